import { getEventListeners } from 'node:events';

const listenersOn = (emitter) => emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);

const counted = (names) => {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

/** What this process holds, after collecting garbage: to be asked while nothing is on its way. What keeps it alive is told by kind. */
export function figures({ client, leaving, limiter, remains }) {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  const { notes, localKeys, owing, unavailable, uncharged, unreturned, localDropped, notesDropped } = limiter.stats();
  return {
    heap: heapUsed,
    external,
    rss,
    handles: counted(process.getActiveResourcesInfo()),
    clientListeners: listenersOn(client),
    signalListeners: getEventListeners(leaving, 'abort').length,
    processListeners: listenersOn(process),
    remains: remains.count(),
    notes,
    localKeys,
    owing,
    unavailable: unavailable.length,
    lost: uncharged + localDropped + notesDropped,
    unreturned,
  };
}
