import { Counter, Gauge, type Registry } from 'prom-client';

type Add = (name: string, help: string, read: () => number) => void;

/** Adds metrics that somebody else counts: each is read when it is asked for. */
export function readMetrics(registry: Registry): { readonly counter: Add; readonly gauge: Add } {
  const registers = [registry];
  return {
    counter(name, help, read) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
  };
}
