// npm run bench:match: what it costs to find the rules of a request among 10,000, beside a loop over all of them. See README.md.
import { compileMatch } from '../packages/server/dist/rules/match.js';
import { segmentsOf } from '../packages/server/dist/rules/match-path.js';
import { createMatcher } from '../packages/server/dist/rules/matcher.js';

const count = 10_000;
const rounds = 5;
const goalUs = 5;

/** A number that looks random and is the same in each run. */
let seed = 42;
function below(bound) {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * bound);
}

const usual = {
  accept: ['application/json'],
  'accept-encoding': ['gzip, deflate, br'],
  'accept-language': ['de-CH,de;q=0.9,en;q=0.7'],
  authorization: ['Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.x'],
  'cache-control': ['no-cache'],
  connection: ['keep-alive'],
  cookie: ['sid=0123456789abcdef; theme=dark'],
  'user-agent': ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'],
  'x-forwarded-for': ['203.0.113.7'],
  'x-request-id': ['7d1f6c1e-8d4d-4c3e-9f11-2b8f6c1e8d4d'],
};

const rulesOf = (entryOf) => Array.from({ length: count }, (_, n) => entryOf(n));

/** For each mix the rules' matches and, for a number, the request that the rule of that number is for. */
const mixes = {
  'distinct paths': {
    entries: rulesOf((n) => ({ method: 'GET', path: `/api/v${n % 3}/service${n % 100}/resource${n}` })),
    request: (n) => ({ target: `/api/v${n % 3}/service${n % 100}/resource${n}?page=2` }),
  },
  'parameters in the middle': {
    entries: rulesOf((n) => ({ method: ['GET', 'POST'], path: `/tenants/:tenant/area${n % 50}/:id/thing${n}/:part` })),
    request: (n) => ({ target: `/tenants/t${n}/area${n % 50}/4711/thing${n}/7` }),
  },
  'parameters and texts in the same places': {
    entries: rulesOf((n) => ({ path: n % 2 === 0 ? `/:area/kind${n % 500}/item${n}` : `/area${n % 500}/:kind/item${n}` })),
    request: (n) => ({ target: `/area${n % 500}/kind${n % 500}/item${n}` }),
  },
  '/* at every depth': {
    entries: rulesOf((n) =>
      n === 0 ? { path: '/*' } : { path: `/team${n % 100}${n >= 100 ? `/app${n % 1000}` : ''}${n >= 1000 ? `/part${n}` : ''}/*` },
    ),
    request: (n) => ({ target: `/team${n % 100}/app${n % 1000}/part${n}/a/b` }),
  },
  'one path, by host': {
    entries: rulesOf((n) => ({ path: '/search', host: n % 10 === 0 ? `*.region${n}.example.com` : `shop${n}.example.com` })),
    request: (n) => ({ target: '/search?q=a', host: n % 10 === 0 ? `shop.region${n}.example.com:443` : `shop${n}.example.com` }),
  },
  'one path, by header': {
    entries: rulesOf((n) => ({ path: '/search', header: { 'x-client': `client-${n}` } })),
    request: (n) => ({ target: '/search?q=a', headers: { 'x-client': [`client-${n}`] } }),
  },
  'one path, by a header of 10,000 names': {
    entries: rulesOf((n) => ({ path: '/search', header: { [`x-feature-${n}`]: '*' } })),
    request: (n) => ({ target: '/search?q=a', headers: { [`x-feature-${n}`]: ['on'] } }),
  },
  'any path, by host, method, header and plan': {
    entries: rulesOf((n) => ({
      host: `h${n % 100}.example.com`,
      method: ['GET', 'POST', 'PUT', 'DELETE'][((n / 100) % 4) | 0],
      header: { 'x-region': `r${((n / 400) % 5) | 0}` },
      plan: `plan${(n / 2000) | 0}`,
    })),
    request: (n) => ({
      target: '/any/thing',
      host: `h${n % 100}.example.com`,
      method: ['GET', 'POST', 'PUT', 'DELETE'][((n / 100) % 4) | 0],
      headers: { 'x-region': [`r${((n / 400) % 5) | 0}`] },
      plan: `plan${(n / 2000) | 0}`,
    }),
  },
  'a mix of all, and five for every request': {
    entries: rulesOf((n) => {
      if (n < 5) return n < 3 ? { path: '/*' } : {};
      const kind = n % 5;
      if (kind === 0) return { method: 'GET', path: `/api/v1/users/:id/docs${n}` };
      if (kind === 1) return { path: `/files/area${n}/*`, host: '*.example.com' };
      if (kind === 2) return { path: '/search', host: `shop${n}.example.com` };
      if (kind === 3) return { path: '/search', header: { 'x-client': [`client-${n}`, `alias-${n}`] } };
      return { method: ['POST', 'PUT'], path: `/orders/:id/step${n}/:part`, plan: ['pro', 'free'] };
    }),
    request: (n) => {
      const host = `shop${n}.example.com`;
      if (n % 5 === 0) return { target: `/api/v1/users/7/docs${n}`, host };
      if (n % 5 === 1) return { target: `/files/area${n}/a/b`, host };
      if (n % 5 === 2) return { target: '/search', host };
      if (n % 5 === 3) return { target: '/search', host, headers: { 'x-client': [`alias-${n}`] } };
      return { target: `/orders/7/step${n}/8`, host, method: 'POST', plan: 'free' };
    },
  },
};

/** As the edge hands a request over. */
function asked({ target, method = 'GET', host = 'api.example.com', headers, plan }) {
  return { lines: [{ method, target }], hosts: [host], headers: { __proto__: null, ...usual, ...headers, host: [host] }, plan };
}

/** A rule as a test of its own, as plainly as can be. */
function plainTest({ method, path, host, header, plan }) {
  const some = (value) => (value === undefined ? undefined : [value].flat());
  const [methods, hosts, plans] = [some(method), some(host), some(plan)];
  const parts = path?.slice(1).split('/');
  const isBelow = parts?.at(-1) === '*';
  if (isBelow) parts.pop();
  const fields = Object.entries(header ?? {}).map(([name, value]) => [name, some(value)]);
  const onPath = (segments) =>
    (isBelow ? segments.length > parts.length || parts.length === 0 : segments.length === parts.length) &&
    parts.every((part, at) => part.startsWith(':') || part === segments[at]);
  return (segments, { lines, hosts: [name], headers, plan: given }) =>
    (methods === undefined || methods.includes(lines[0].method)) &&
    (parts === undefined || onPath(segments)) &&
    (hosts === undefined || hosts.some((one) => (one.startsWith('*') ? name.endsWith(one.slice(1)) : name === one))) &&
    fields.every(([field, values]) => headers[field]?.some((line) => values[0] === '*' || values.includes(line))) &&
    (plans === undefined || plans.includes(given));
}

/** Microseconds of CPU a request: nothing is waited for, and on a machine that others use as well time would tell of them. */
function timed(requests, repeats, match) {
  let found = 0;
  const from = process.cpuUsage();
  for (let i = 0; i < repeats; i += 1) for (const request of requests) found += match(request).length;
  const { user, system } = process.cpuUsage(from);
  return { us: (user + system) / (repeats * requests.length), found: found / (repeats * requests.length) };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
let isMet = true;

console.log(`us of CPU per request, ${count.toLocaleString('en')} rules; medians of ${rounds} (smallest to largest)\n`);
for (const [name, { entries, request }] of Object.entries(mixes)) {
  const built = performance.now();
  const matcher = createMatcher(entries.map((entry) => ({ match: compileMatch(entry) })));
  const buildMs = performance.now() - built;
  const tests = entries.map(plainTest);
  const naive = (question) => {
    const segments = segmentsOf(question.lines[0].target);
    // Plain hosts: the loop is not asked to strip ports.
    const bare = { ...question, hosts: [question.hosts[0].replace(/:\d+$/, '')] };
    return tests.filter((test) => test(segments, bare));
  };
  const requests = Array.from({ length: 2000 }, () => asked(request(below(count))));
  const few = requests.slice(0, 100);
  const same = few.every((question) => matcher.match(question).length === naive(question).length && naive(question).length > 0);
  if (!same) throw new Error(`${name}: the structure and the loop do not find the same`);
  const [own, loop] = [[], []];
  let found = 0;
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const one = timed(requests, 20, matcher.match);
    const other = timed(few, 1, naive);
    found = one.found;
    if (round > 0) [own, loop].forEach((list, at) => list.push([one, other][at].us));
  }
  const [mine, theirs] = [median(own), median(loop)];
  if (mine >= goalUs) isMet = false;
  console.log(
    `${name.padEnd(44)} ${mine.toFixed(2).padStart(6)} (${own[0].toFixed(2)} to ${own.at(-1).toFixed(2)})  loop ${theirs.toFixed(0).padStart(5)}, ` +
      `${(theirs / mine).toFixed(0).padStart(4)} x; ${found.toFixed(1)} match; built in ${buildMs.toFixed(0)} ms`,
  );
}
console.log(`\ngoal under ${goalUs} us each: ${isMet ? 'met' : 'NOT MET'}`);
