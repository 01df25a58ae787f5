import { parseArgs } from 'node:util';
import { number } from './number.mjs';

const help = ({ systems, scenarios }) => `npm run bench -- [options]
  --scenario A,B  these scenarios only: ${scenarios.join(', ')}
  --only A,B      these systems only: ${systems.join(', ')}
  --in-flight A,B checks in flight, for every system of a scenario; else as bench/scenarios.mjs says
  --rounds N      rounds; medians are over these (5)
  --seconds S     how long one cell is measured (0.5)
  --keys N        how many keys are checked, all of them there before the first round (100000)
  --guard         only what bench/guard.mjs compares, in short; fails if Headgate has become much slower`;

function list(name, text, known) {
  const names = text?.split(',');
  const unknown = names?.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new TypeError(`--${name}: unknown ${JSON.stringify(unknown)}; there are ${known.join(', ')}`);
  return names;
}

/** The command line, read and checked; `known` are the names of systems and scenarios there are. */
export function readOptions(argv, known) {
  const { values } = parseArgs({
    args: argv,
    options: {
      scenario: { type: 'string' },
      only: { type: 'string' },
      'in-flight': { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '0.5' },
      keys: { type: 'string', default: '100000' },
      guard: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help(known));
    process.exit(0);
  }
  if (values.guard) Object.assign(values, known.guard);
  return {
    guard: values.guard,
    scenarios: list('scenario', values.scenario, known.scenarios) ?? known.scenarios,
    only: list('only', values.only, known.systems),
    inFlight: values['in-flight']?.split(',').map((text) => Math.floor(number('in-flight', text, 1))),
    rounds: Math.floor(number('rounds', values.rounds, 1)),
    seconds: number('seconds', values.seconds, 0.05),
    keys: Math.floor(number('keys', values.keys, 1)),
  };
}
