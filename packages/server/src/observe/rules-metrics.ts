import { Gauge, type Registry } from 'prom-client';
import type { SourceState } from '../rules/source-state.js';

/** Where the rules in force come from, and whether they still do; read when it is asked for. */
export function rulesMetrics(registry: Registry, state: () => SourceState): void {
  const gauge = (name: string, help: string, read: (state: SourceState) => number | undefined): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const value = read(state());
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  };
  gauge('headgate_rules_version', 'Version of the rules in force; none of a file.', ({ version }) => version);
  gauge(
    'headgate_rules_age_seconds',
    'Time since the rules in force were read from their source, or found to be the same there.',
    ({ ageMs }) => ageMs / 1000,
  );
  gauge('headgate_rules_source_reachable', 'Whether the source of the rules could be read when it was last looked at.', ({ reachable }) =>
    reachable ? 1 : 0,
  );
}
