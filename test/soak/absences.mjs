import { backMs } from './disturbances.mjs';

/** Times kept for the report. */
const mostTimes = 5;

const within = (windows, at) => windows.some(({ from, until }) => at >= from && at <= until);
/** A breaker that opened meanwhile is closed again by then. */
const after = (windows) => windows.map(({ from, until }) => ({ from, until: until + backMs }));

/**
 * Why decisions were made without the store, by when that was: each belongs to the first cause that there was then. What belongs to none of
 * them cannot be explained. Times are milliseconds of the wall clock, which is one for all processes.
 */
export function causesOf({ samples, ended }) {
  const disturbances = samples.map(({ disturbance }) => disturbance);
  const counts = [...samples.flatMap(({ processes }) => processes.map((each) => each.counts)), ...ended.counts];
  // A Redis that is paused is slow, of course.
  const elsewhere = (windows) => windows.filter(({ from, until }) => !within(disturbances, from) || !within(disturbances, until));
  const made = [...new Set(disturbances.map(({ cause }) => cause))];
  const causes = [
    ...made.map((name) => ({ name, windows: disturbances.filter(({ cause }) => cause === name) })),
    { name: 'slow to answer the driver, too', windows: after(elsewhere(samples.flatMap(({ slow }) => slow))) },
    { name: 'the process stood still', windows: after(elsewhere(counts.flatMap(({ stalls }) => stalls))) },
    { name: 'unexplained', windows: [] },
  ];
  const rows = causes.map(({ name, windows }) => ({ name, times: windows.length, degraded: 0, away: 0, at: [] }));
  for (const what of ['degraded', 'away']) {
    for (const [at, count] of counts.flatMap((each) => each[what])) {
      const row = rows[causes.findIndex(({ windows }) => within(windows, at))] ?? rows.at(-1);
      row[what] += count;
      if (row.at.length < mostTimes) row.at.push(at);
    }
  }
  return rows;
}
