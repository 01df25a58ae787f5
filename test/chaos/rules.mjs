import { bucket, fixed, hourly, holders, limitOf, log, sliding } from '../e2e/exactness/rules.mjs';

/**
 * One rule for each way that a limit may fail in, of sizes such that hot keys are refused about as often as they pass. As in the exactness run
 * each limit is written down as plain numbers: those are judged, and Headgate's own limit is made of them.
 */
export const table = {
  // Fewer units than there are processes: each process's share is one unit all the same.
  small: { spec: bucket(3, 2, 1000) },
  medium: { spec: bucket(20, 30, 1000) },
  large: { spec: bucket(300, 100, 1000) },
  // It takes a minute to fill: what an outage forgot or failed to charge cannot hide behind the refill.
  slow: { spec: bucket(120, 120, 60_000) },
  epoch: { spec: fixed(40, 1000) },
  first: { spec: fixed(50, 1500, 'first-request') },
  sliding: { spec: sliding(45, 1000) },
  log: { spec: log(25, 1000) },
  hourly: { spec: hourly(150) },
  jobs: { spec: holders(5, 2500) },
  open: { spec: fixed(50, 1000), whenUnavailable: 'allow' },
  login: { spec: bucket(10, 20, 1000), whenUnavailable: 'refuse', countRefused: true },
};

export const names = Object.keys(table);

/** The rules as `createLimiter` takes them. */
export const rules = Object.fromEntries(Object.entries(table).map(([name, { spec, ...how }]) => [name, { limit: limitOf(spec), ...how }]));
