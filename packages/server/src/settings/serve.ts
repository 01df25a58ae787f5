import { availableParallelism } from 'node:os';
import { readDatabaseUrl, showDatabase, type DatabaseAddress } from '../database/address.js';
import { readRedisUrl, showRedisAddress } from '../redis-address.js';
import { nameIn, splitServers, splitWeights } from '../redis-servers.js';
import { otlpSettings } from './otlp.js';
import {
  choiceOr,
  durationOr,
  durationSetting,
  last,
  orFault,
  secretSetting,
  setting,
  textOr,
  textSetting,
  wholeOr,
  wholeSetting,
  type Given,
  type Setting,
} from './setting.js';

/** As it may be shown; what cannot be read may hold a password anywhere. */
function safely(show: () => string): string {
  try {
    return show();
  } catch {
    return '(not shown)';
  }
}

function showServer(text: string): string {
  const { name, rest } = nameIn(text);
  return safely(() => `${name === undefined ? '' : `${name}=`}${showRedisAddress(readRedisUrl(rest))}`);
}

const given = (words: Pick<Setting<unknown>, 'name' | 'help' | 'placeholder'> & Partial<Setting<unknown>>): Setting<Given> =>
  setting({ ...words, takes: 'values', read: (all) => all });

/** One Redis, or several by name; read together with the weights. */
export const redisSetting = given({
  name: 'redis',
  placeholder: 'URL',
  help:
    'where the counters are: redis://h, rediss://h, redis+cluster://h1,h2 or redis+sentinel://h1,h2/NAME; several times as NAME=URL, the same on all ' +
    'servers: shards, each with a part of the keys by its name (in a variable apart by white space)',
  fallback: 'in memory',
  split: splitServers,
  show: showServer,
});

export const databaseSetting: Setting<DatabaseAddress | undefined> = setting({
  name: 'database',
  placeholder: 'URL',
  help: 'rules that operators change, with plans, overrides and quotas: sqlite:PATH or postgres://user:password@host:5432/name',
  show: (text) => safely(() => showDatabase(readDatabaseUrl(text, ''))),
  read(all, faults) {
    const text = last(all);
    return text === undefined ? undefined : orFault(faults, () => readDatabaseUrl(text, all.where));
  },
});

export const deadlineSetting = durationSetting({
  name: 'deadline',
  within: ['1ms', '60s'],
  help: 'a decision is answered by then, whatever Redis does',
  fallback: '10ms',
});

const mostWorkers = 64;

const workersSetting: Setting<number> = setting({
  name: 'workers',
  placeholder: 'N',
  fallback: '1',
  help: `processes that answer, 1 to ${mostWorkers}, or auto: one for each core; more than one needs --redis`,
  read(all, faults) {
    const text = last(all);
    if (text === undefined) return 1;
    if (text === 'auto') return Math.min(mostWorkers, availableParallelism());
    if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= mostWorkers) return Number(text);
    faults.push(`${all.where}: expected a whole number from 1 to ${mostWorkers}, or auto; got ${JSON.stringify(text)}`);
    return 1;
  },
});

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

function readWebhookUrl(all: Given, faults: string[]): string | undefined {
  const url = last(all);
  if (url === undefined) return undefined;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    faults.push(`${all.where}: expected a URL such as https://billing.example.com/hooks/headgate (the value is not shown)`);
  else if (new URL(url).username !== '' || new URL(url).password !== '')
    faults.push(`${all.where}: expected no user and password in the URL; the receiver knows us by the signature (the value is not shown)`);
  return url;
}

/** The settings of `headgate serve`, in the order of its help. */
export const serveSettings = {
  rules: textSetting({
    name: 'rules',
    placeholder: 'FILE',
    help: 'YAML or JSON, read again when it changes; not beside --database',
    fallback: 'the sample rules',
  }),
  database: databaseSetting,
  cache: textSetting({
    name: 'cache',
    placeholder: 'FOLDER',
    help: 'copies of what is in the database, to start from while it is away',
  }),
  redis: redisSetting,
  weight: given({
    name: 'weight',
    placeholder: 'NAME=N',
    help: "how large a shard's part of the keys is, 0 to 1000, 1 by default; 0 takes it out; once for each",
    split: splitWeights,
  }),
  fleetSize: wholeSetting({
    name: 'fleet-size',
    within: [1, 100_000],
    help: 'servers that share Redis, until Redis has told',
    fallback: '1',
  }),
  deadline: deadlineSetting,
  notes: wholeSetting({
    name: 'notes',
    within: [0, 10_000_000],
    help: 'refused keys that are remembered; 0 for none',
    fallback: '100000',
  }),
  host: textOr({ name: 'host', placeholder: 'ADDRESS', help: 'where to listen', fallback: '127.0.0.1' }),
  httpPort: wholeOr({
    name: 'http-port',
    placeholder: 'PORT',
    within: [0, 65_535],
    what: 'a port',
    usual: 8080,
    help: '0 for any that is free',
  }),
  socket: textSetting({
    name: 'socket',
    placeholder: 'PATH',
    help: 'a Unix socket to listen on, instead of --host and --http-port; this user and its group may connect',
  }),
  opsPort: wholeSetting({
    name: 'ops-port',
    placeholder: 'PORT',
    within: [0, 65_535],
    what: 'a port',
    help: '/healthz, /readyz and /metrics without TLS, on --host; /metrics is then only here',
  }),
  tlsCert: textSetting({
    name: 'tls-cert',
    placeholder: 'FILE',
    help: "PEM: the server's certificate and those above it; read again when it changes",
  }),
  tlsKey: textSetting({ name: 'tls-key', placeholder: 'FILE', help: 'PEM: its key, without a passphrase' }),
  tlsClientCa: textSetting({
    name: 'tls-client-ca',
    placeholder: 'FILE',
    help: 'PEM: only clients with a certificate of one of these are served',
  }),
  workers: workersSetting,
  drain: durationOr({
    name: 'drain',
    within: ['0s', '10m'],
    usual: '0s',
    help: 'when it is to stop, it is not ready and still answers for so long: until load balancers have noticed',
  }),
  stopWithin: durationOr({
    name: 'stop-within',
    within: ['100ms', '10m'],
    usual: '10s',
    help: 'then it takes no more, and requests in flight have so long',
  }),
  webhook: setting({
    name: 'webhook',
    placeholder: 'URL',
    help: 'told of quotas that are used to 80 % and 100 %',
    show: (text) => safely(() => new URL(text).origin),
    read: readWebhookUrl,
  }),
  webhookSecret: secretSetting({
    name: 'webhook-secret',
    least: 16,
    help: 'secret of its signatures, at least 16 characters',
  }),
  secret: secretSetting({
    name: 'secret',
    least: 16,
    help: 'secret of all ids, at least 16 characters, the same on all servers',
    fallback: 'a random one',
  }),
  ...otlpSettings,
  storeToken: secretSetting({
    name: 'store-token',
    least: 16,
    help: 'serves its counters to programs with remoteStore() that show this token, at least 16 characters; such a program can do anything with them',
    fallback: 'they are not served',
  }),
  logLevel: choiceOr({ name: 'log-level', placeholder: 'LEVEL', oneOf: levels, usual: 'info', help: levels.join(', ') }),
};
