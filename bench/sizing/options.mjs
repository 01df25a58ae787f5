import { parseArgs } from 'node:util';
import { number } from '../number.mjs';

const help = (known) => `npm run bench:sizing -- [options]
  --only A,B   these cases only: ${known.join(', ')}
  --rounds N   rounds; figures are medians of these (5)
  --seconds S  how long each case is measured in each (1.5)`;

/** The command line, read and checked; `known` are the names of cases there are. */
export function readOptions(argv, known) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string', default: known.join(',') },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '1.5' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help(known));
    process.exit(0);
  }
  const only = values.only.split(',');
  const unknown = only.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`--only: unknown ${JSON.stringify(unknown)}; there are ${known.join(', ')}`);
  return { only, rounds: Math.floor(number('rounds', values.rounds, 1)), seconds: number('seconds', values.seconds, 0.2) };
}
