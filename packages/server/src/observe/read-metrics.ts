import { Counter, Gauge, type Registry } from 'prom-client';

interface Told {
  readonly name: string;
  readonly help: string;
}

export interface ReadGauge extends Told {
  /** Undefined: there is no value now. */
  readonly read: () => number | undefined;
  /** Of several processes of one server: the sum if not said. */
  readonly aggregator?: 'sum' | 'min' | 'max';
}

export interface ReadMetrics {
  counter(told: Told & { readonly read: () => number }): void;
  gauge(told: ReadGauge): void;
}

/** Adds metrics that somebody else counts: each is read when it is asked for. */
export function readMetrics(registry: Registry): ReadMetrics {
  const registers = [registry];
  return {
    counter({ name, help, read }) {
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
    gauge({ name, help, read, aggregator = 'sum' }) {
      new Gauge({
        name,
        help,
        aggregator,
        registers,
        collect() {
          const value = read();
          if (value === undefined) this.remove();
          else this.set(value);
        },
      });
    },
  };
}
