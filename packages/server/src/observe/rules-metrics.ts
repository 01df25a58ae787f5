import type { Registry } from 'prom-client';
import type { SourceState } from '../rules/source-state.js';
import { readMetrics } from './read-metrics.js';

/** Where the rules in force come from, and whether they still do. Of several processes of one server the one that is behind counts. */
export function rulesMetrics(registry: Registry, state: () => SourceState): void {
  const { gauge } = readMetrics(registry);
  gauge({
    name: 'headgate_rules_version',
    help: 'Version of the rules in force; none of a file.',
    aggregator: 'min',
    read: () => state().version,
  });
  gauge({
    name: 'headgate_rules_age_seconds',
    help: 'Time since the rules in force were read from their source, or found to be the same there.',
    aggregator: 'max',
    read: () => state().ageMs / 1000,
  });
  gauge({
    name: 'headgate_rules_source_reachable',
    help: 'Whether the source of the rules could be read when it was last looked at.',
    aggregator: 'min',
    read: () => (state().reachable ? 1 : 0),
  });
}
