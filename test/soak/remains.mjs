/** Timers of a second may still hold what was just let go. */
const graceMs = 1100;

/** Counts what was let go and is in memory all the same, by kind; it is held weakly, and so by others. */
export function remains() {
  const watched = new Map();
  return {
    letGo(kind, object) {
      const items = watched.get(kind) ?? [];
      watched.set(kind, items);
      items.push({ ref: new WeakRef(object), since: performance.now() });
    },
    /** To be asked after collecting garbage. */
    count() {
      const now = performance.now();
      const counted = {};
      for (const [kind, items] of watched) {
        const there = items.filter(({ ref }) => ref.deref() !== undefined);
        watched.set(kind, there);
        counted[kind] = there.filter(({ since }) => now - since > graceMs).length;
      }
      return counted;
    },
  };
}
