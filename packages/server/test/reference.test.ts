import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOf, isGroup } from '../src/cli/command.js';
import { exitCodes, exitMeanings } from '../src/cli/exit-codes.js';
import { tree } from '../src/cli/tree/index.js';
import { readConfig } from '../src/config.js';
import { serveSettings } from '../src/settings/serve.js';
import { commandsPage, configurationPage, settingsFile } from './support/reference.js';
import { temporary } from './support/service.js';

const page = (name: string): string => join(import.meta.dirname, '../../../docs', name);

// `npm run docs:generate` writes them.
describe('the generated pages', () => {
  it('say of each command what it says of itself', async () => {
    await expect(commandsPage(tree, serveSettings)).toMatchFileSnapshot(page('cli.md'));
  });

  it('say of each setting of the service what help says', async () => {
    await expect(configurationPage(serveSettings)).toMatchFileSnapshot(page('configuration.md'));
  });

  it('have a settings file that the service takes', () => {
    const file = join(temporary(), 'headgate.yaml');
    writeFileSync(file, settingsFile);
    expect(readConfig(['--config', file], {})).toMatchObject({ host: '0.0.0.0', redis: [{ weight: 1 }, { weight: 2 }], logLevel: 'warn' });
  });
});

describe('every command', () => {
  it('has examples, begins with its group, and ends only with numbers that are documented', () => {
    const documented = exitMeanings.map(([number]) => number);
    for (const { path, examples = [], exits = [], settings } of commandsOf(tree)) {
      expect(examples.length, path).toBeGreaterThan(0);
      for (const [line] of examples) expect(line, path).toContain(`headgate ${path}`);
      for (const [number] of exits) expect(documented, path).toContain(number);
      const names = Object.values(settings).map(({ name }) => name);
      expect(new Set(names).size, path).toBe(names.length);
    }
    for (const node of tree)
      if (isGroup(node)) for (const { path } of node.commands) expect(path.startsWith(`${node.path} `), path).toBe(true);
    expect(new Set(Object.values(exitCodes))).toEqual(new Set(documented));
  });
});
