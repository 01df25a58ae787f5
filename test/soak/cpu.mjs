/** Which part of a core this process used while it was under load: 0 to 1, or above with threads. */
export function cpuUse() {
  let since;
  let before;
  return {
    start() {
      since = performance.now();
      before = process.cpuUsage();
    },
    use() {
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000 / (performance.now() - since);
    },
  };
}
