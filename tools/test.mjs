// Runs the tests and ends with the plain line that says how they went.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const report = join(root, '.test-report.json');
rmSync(report, { force: true });
const args = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
];
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites, success } = JSON.parse(
  readFileSync(report, 'utf8'),
);
// A file that does not even load has no failed test of its own.
const failed = numFailedTests === 0 && (!success || status !== 0) ? Math.max(1, numFailedTestSuites) : numFailedTests;
console.log(`${numPassedTests} passed, ${failed} failed, ${numPendingTests + numTodoTests} skipped`);
process.exit(failed === 0 ? 0 : 1);
