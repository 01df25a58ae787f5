import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import tseslint from 'typescript-eslint';

const library = 'packages/headgate/src';
const server = 'packages/server/src';

/** Who may import what, as ARCHITECTURE.md draws it: `from` may not be reached out of `target`. */
const zones = [
  {
    target: `${library}/algorithms`,
    from: [
      `${library}/layers`,
      `${library}/stores/redis`,
      `${library}/stores/memory.ts`,
      `${library}/http`,
      `${library}/clock.ts`,
      `${library}/limiter.ts`,
      `${library}/compose.ts`,
    ],
    message: 'An algorithm does no I/O and reads no clock.',
  },
  {
    target: `${library}/stores`,
    from: [`${library}/layers`, `${library}/limiter.ts`, `${library}/compose.ts`, `${library}/http`],
    message: 'Stores know algorithms, not who uses them.',
  },
  {
    target: `${library}/layers`,
    from: [`${library}/stores/redis`, `${library}/limiter.ts`, `${library}/compose.ts`, `${library}/http`],
    message: 'A layer wraps any store.',
  },
  {
    target: `${library}/limiter.ts`,
    from: [`${library}/layers`, `${library}/stores/redis`, `${library}/stores/memory.ts`, `${library}/http`],
    message: 'The limiter asks a store; compose.ts chooses which.',
  },
  { target: `${library}/compose.ts`, from: [`${library}/stores/redis`, `${library}/http`], message: 'Redis is handed in by the user.' },
  {
    target: `${library}/http`,
    from: [`${library}/stores`, `${library}/layers`, `${library}/limiter.ts`, `${library}/compose.ts`],
    message: 'http/ rounds and renders; it decides nothing.',
  },
  {
    target: `${library}/middleware`,
    from: library,
    // Beside the public index and http/ only the wording of errors, so that wrong options read alike, and a check that needs no promise.
    except: ['./index.ts', './http', './middleware', './errors.ts', './at-once.ts'],
    message: 'Middleware imports the public index and http/ only.',
  },
  {
    target: `${library}/outbound`,
    from: [`${library}/stores`, `${library}/layers`, `${library}/limiter.ts`, `${library}/compose.ts`, `${library}/http`],
    message: 'Calls to others use the verbs of a limiter.',
  },
  {
    target: `${library}/otel`,
    from: [`${library}/stores`, `${library}/layers`, `${library}/limiter.ts`, `${library}/compose.ts`, `${library}/http`],
    message: 'Telemetry hears what the channels tell.',
  },
  {
    target: `${server}/usecases`,
    from: [`${server}/edge`, `${server}/observe`, `${server}/database`, `${server}/app.ts`, `${server}/config.ts`, `${server}/redis.ts`],
    message: 'A use case knows no transport, driver or framework.',
  },
  {
    target: `${server}/rules`,
    from: [`${server}/edge`, `${server}/usecases`, `${server}/app.ts`],
    message: 'Rules know nothing of requests in flight.',
  },
  {
    target: `${server}/database`,
    from: [`${server}/edge`, `${server}/usecases`, `${server}/observe`, `${server}/app.ts`, `${server}/config.ts`],
    message: 'The database keeps what it is given.',
  },
  { target: `${server}/edge`, from: [`${server}/app.ts`, `${server}/redis.ts`, `${server}/cli`], message: 'The edge translates.' },
];

const noClock = [
  { object: 'Date', property: 'now', message: 'Time comes from clock.ts.' },
  { object: 'process', property: 'env', message: 'Settings come from config.ts.' },
];

export default tseslint.config(
  { ignores: ['**/dist/**', '**/gen/**', 'node_modules/**', 'coverage/**'] },
  {
    files: ['packages/*/src/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver({ project: ['packages/headgate', 'packages/server'] })] },
    rules: {
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones }],
      'import-x/no-relative-packages': 'error',
      'import-x/no-cycle': 'error',
      'no-restricted-properties': ['error', ...noClock],
      'max-lines': ['error', 400],
      'max-params': 'off',
      '@typescript-eslint/max-params': ['error', { max: 3 }],
      // Nothing here uses `this` but through an object.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
    },
  },
  { files: [`${library}/clock.ts`, `${server}/config.ts`], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['packages/*/test/**/*.ts', 'test/**/*.ts'],
    extends: [...tseslint.configs.recommended],
  },
);
