import { parseArgs } from 'node:util';
import { number } from '../number.mjs';

const help = `npm run bench:service -- [options]
  --in-flight N  connections, each with one request at a time (64)
  --rounds N     rounds; figures are medians of these (5)
  --seconds S    how long each server is asked in each (1)`;

/** The command line, read and checked. */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      'in-flight': { type: 'string', default: '64' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  return {
    inFlight: Math.floor(number('in-flight', values['in-flight'], 1)),
    rounds: Math.floor(number('rounds', values.rounds, 1)),
    seconds: number('seconds', values.seconds, 0.2),
  };
}
