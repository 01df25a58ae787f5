// A process that asks: holds the systems of one scenario and does what it is told, one thing at a time.
import { Redis } from 'ioredis';
import { drive, fill, keyRing } from './measure.mjs';
import { obey } from './obey.mjs';
import { systems } from './systems/index.mjs';

/** The same client with the same options for every system. */
async function connect(server) {
  const client = new Redis({ ...server, lazyConnect: true });
  await client.connect();
  return client;
}

let settings;
let keys;
const running = {};

const verbs = {
  async open({ names, part, ...given }) {
    settings = given;
    keys = keyRing(settings.keys);
    for (const name of names) {
      const servers = settings.servers[name];
      const env = { ...settings, servers, connect: (server = servers[0]) => connect(server) };
      running[name] = await systems[name].start(env);
      // Processes walk over the same keys, each from another place.
      running[name].next = Math.floor(part * keys.length);
    }
  },
  /** `known`: the counters are in Redis already. */
  async fill({ name, known }) {
    const system = running[name];
    if (known && !system.local) return;
    // The second time uses up what the first has left: those that remember who is refused do so from then on.
    for (let i = 0; i < (settings.refuse ? 2 : 1); i += 1) await fill({ ask: system.ask, keys });
  },
  drive: ({ name, inFlight, ms }) => drive({ system: running[name], keys, inFlight, ms, expected: !settings.refuse }),
  async close() {
    const degraded = Object.values(running).reduce((sum, system) => sum + (system.degraded?.() ?? 0), 0);
    for (const system of Object.values(running)) await system.close();
    return degraded;
  },
};

obey(verbs);
