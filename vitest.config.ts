import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/seed.ts'],
    pool: 'forks',
    // Two cores: Redis servers and child processes need one of them.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
