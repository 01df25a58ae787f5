// The results as people read them.
import { spread } from '../summary.mjs';
import { aligned } from '../table.mjs';
import { cases } from './cases.mjs';

/** How busy a Redis shall be at most: beyond it waits grow quickly, and nothing is left for a peak or a server that fails. */
const busyGoal = 0.7;

const wantedRates = [50_000, 100_000, 500_000, 1_000_000];

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const count = (n) => whole.format(n);
const figure = (n) => (n >= 100 ? count(n) : n.toFixed(n >= 10 ? 1 : 2));
const small = (n) => n.toFixed(3);
const percent = (n) => `${(n * 100).toFixed(n < 0.1 ? 1 : 0)} %`;
const between = ({ median, min, max }, show) => `${show(median)} (${show(min)}..${show(max)})`;

/** Each figure's median and spread over the rounds. */
export function summarize(rounds) {
  return Object.fromEntries(Object.keys(rounds[0]).map((name) => [name, spread(rounds.map((round) => round[name]))]));
}

/** Requests a second that one Redis serves at 70 %: it decides on one core. */
const perRedis = ({ redisCpuUs }) => (busyGoal * 1e6) / redisCpuUs.median;
const serversFor = (wanted, row) => Math.ceil(wanted / perRedis(row));

/** The clients got too little of the cores: then Redis too waited for one, found more to do at each wake-up, and may look cheaper than it is. */
const isShort = ({ offered, checksPerSecond }) => checksPerSecond.median < 0.95 * offered.median;
const titleOf = ([name, row]) => `${cases[name].title}${isShort(row) ? ' *' : ''}`;

/** A line of heads and one per case; a column is its title and what it shows of a row. */
function table(rows, columns) {
  const body = Object.entries(rows).map((entry) => [titleOf(entry), ...Object.values(columns).map((show) => show(entry[1]))]);
  return aligned([['', ...Object.keys(columns)], ...body])
    .map((line) => line.trimEnd())
    .join('\n');
}

const exactHead = `== What a request costs Redis
A request is one check, or three where there are three buckets. Redis CPU is the CPU time of its process (user and system, network included);
busy is that by the clock. Clients and Redis share the cores, so what was reached and waited is of this machine: CPU time is what sizes.
It falls the more travels in a call, and the busier Redis is, as a wake-up then serves several calls; so what is measured below 70 % busy
is rather too high.`;

const inProcessHead = `== What is counted in the process
A pair is one key in one app. Redis is asked for lots, or whether a note still holds, and how often grows with the pairs, not the requests.`;

const shortNote =
  '* less was reached than offered: the machine was too busy, and Redis may look cheaper than with a core of its own. Run it again.';

const sizingHead = '== Redis servers at 70 % busy, one core each';

const exactColumns = {
  'offered/s': (row) => count(row.offered.median),
  'reached/s': (row) => count(row.checksPerSecond.median),
  'Redis busy': (row) => percent(row.busy.median),
  'Redis CPU us/request': (row) => between(row.redisCpuUs, figure),
  'requests/call': (row) => figure(row.perCall.median),
  'p50 ms': (row) => figure(row.p50Ms.median),
  'p99 ms': (row) => figure(row.p99Ms.median),
  'requests/s at 70 %': (row) => count(perRedis(row)),
  'servers for 500,000/s': (row) => count(serversFor(500_000, row)),
};

const inProcessColumns = {
  'offered/s': exactColumns['offered/s'],
  'reached/s': exactColumns['reached/s'],
  'Redis busy': exactColumns['Redis busy'],
  'asks/s a pair': (row) => between(row.asksPerPair, figure),
  'asks/call': (row) => figure(row.asksPerCall.median),
  'Redis CPU us/ask': (row) => between(row.usPerAsk, figure),
  'us/request': (row) => small(row.redisCpuUs.median),
  'pairs at 70 %': (row) => count((busyGoal * 1e6) / (row.usPerAsk.median * row.asksPerPair.median)),
};

const sizingColumns = Object.fromEntries(wantedRates.map((wanted) => [`${count(wanted)}/s`, (row) => count(serversFor(wanted, row))]));

/** What happened at 70 %, as far as this machine could drive Redis there. */
const drivenLine = ({ busy, p50Ms, p99Ms, checksPerSecond }) =>
  `Driven to 70 %: ${between(checksPerSecond, count)} requests/s in calls of 64 had Redis busy for ${between(busy, percent)};\n` +
  `p50 ${between(p50Ms, figure)} ms, p99 ${between(p99Ms, figure)} ms, with the waits for a core of clients and Redis in them.`;

const pick = (rows, wanted) => Object.fromEntries(Object.entries(rows).filter(([name]) => wanted(cases[name])));
const isEmpty = (rows) => Object.keys(rows).length === 0;

/** All that is printed. */
export function report(rows) {
  const exact = pick(rows, ({ inProcess }) => !inProcess);
  const inProcess = pick(rows, (one) => one.inProcess);
  const sizing = pick(rows, ({ isAside }) => !isAside);
  const parts = [];
  if (!isEmpty(exact)) parts.push(`${exactHead}\n${table(exact, exactColumns)}`);
  if (rows.driven) parts.push(drivenLine(rows.driven));
  if (!isEmpty(inProcess)) parts.push(`${inProcessHead}\n${table(inProcess, inProcessColumns)}`);
  if (!isEmpty(sizing)) parts.push(`${sizingHead}\n${table(sizing, sizingColumns)}`);
  if (Object.values(rows).some(isShort)) parts.push(shortNote);
  return parts.join('\n\n');
}
