import { parseArgs } from 'node:util';
import { number } from '../number.mjs';

const parts = ['speed', 'waits', 'leases', 'sync'];

const help = `npm run bench:local -- [options]
  --only A,B      these parts only: ${parts.join(', ')}
  --rounds N      rounds of the speed part; medians are over these (5)
  --seconds S     how long one cell of the lease table is measured (20)
  --windows N     whole windows of the sync table (3)
  --full          the sync table with windows of a minute instead of 10 s`;

/** The command line, read and checked. */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string', default: parts.join(',') },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '20' },
      windows: { type: 'string', default: '3' },
      full: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const only = values.only.split(',');
  const unknown = only.find((name) => !parts.includes(name));
  if (unknown !== undefined) throw new TypeError(`--only: unknown part ${JSON.stringify(unknown)}; there are ${parts.join(', ')}`);
  return {
    only,
    rounds: Math.floor(number('rounds', values.rounds, 1)),
    seconds: number('seconds', values.seconds, 1),
    windows: Math.floor(number('windows', values.windows, 1)),
    full: values.full,
  };
}
