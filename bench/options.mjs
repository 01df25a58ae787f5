import { parseArgs } from 'node:util';

const help = `npm run bench -- [options]
  --rounds N      rounds; medians are over these (5)
  --seconds S     how long one cell is measured (1)
  --keys N        how many keys are checked, all of them there before the first round (100000)
  --only A,B      these systems only: headgate, flexible, rlr, raw
  --in-flight A,B checks in flight (1,8,64,256)`;

function number(name, text, least) {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= least) return value;
  throw new TypeError(`--${name}: expected a number of at least ${least}; got ${JSON.stringify(text)}`);
}

/** The command line, read and checked; `names` are the systems there are. */
export function readOptions(argv, names) {
  const { values } = parseArgs({
    args: argv,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '1' },
      keys: { type: 'string', default: '100000' },
      only: { type: 'string', default: names.join(',') },
      'in-flight': { type: 'string', default: '1,8,64,256' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const only = values.only.split(',');
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`--only: unknown system ${JSON.stringify(unknown)}; there are ${names.join(', ')}`);
  return {
    rounds: Math.floor(number('rounds', values.rounds, 1)),
    seconds: number('seconds', values.seconds, 0.05),
    keys: Math.floor(number('keys', values.keys, 1)),
    inFlight: values['in-flight'].split(',').map((text) => Math.floor(number('in-flight', text, 1))),
    only,
  };
}
