import { ensureRedisServer } from './install.js';

/** For vitest's `globalSetup`: the server is there before the first test file starts. */
export default function setup(): void {
  ensureRedisServer();
}
