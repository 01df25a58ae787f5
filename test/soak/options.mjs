import { parseArgs } from 'node:util';

const help = `npm run soak -- [options]
  --minutes M     how long the load lasts (10)
  --rate R        calls a second, of all processes together (3000); a call is about 1.3 decisions, and what becomes of them
  --processes N   processes that ask (1)
  --client NAME   ioredis (default) or node-redis
  --json FILE     the samples and the verdict as JSON, too`;

function number(name, text, least) {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= least) return value;
  throw new TypeError(`--${name}: expected a number of at least ${least}; got ${JSON.stringify(text)}`);
}

/** The command line, read and checked. */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '3000' },
      processes: { type: 'string', default: '1' },
      client: { type: 'string', default: 'ioredis' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const { client, json } = values;
  if (client !== 'ioredis' && client !== 'node-redis')
    throw new TypeError(`--client: ioredis or node-redis; got ${JSON.stringify(client)}`);
  return {
    // Less is all warm-up.
    minutes: number('minutes', values.minutes, 0.5),
    // With less some of the verbs are not asked at all.
    rate: number('rate', values.rate, 200),
    processes: Math.floor(number('processes', values.processes, 1)),
    client,
    json,
  };
}
