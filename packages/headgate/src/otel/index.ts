import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type * as OpenTelemetry from '@opentelemetry/api';
import type { ChannelMessages } from '../channels.js';
import { ConfigError, rejectUnknownOptions, show } from '../errors.js';
import type { Limiter } from '../limiter-types.js';
import { decisionMetrics, eventMetrics, fetchMetrics, statsMetrics } from './metrics.js';
import { spanAttributes } from './spans.js';

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Where metrics go: by default a meter `headgate` of the global meter provider. */
  readonly meter?: OpenTelemetry.Meter;
  /** Limiters whose `stats()` are metrics too, each by a name. */
  readonly limiters?: Readonly<Record<string, Pick<Limiter, 'stats'>>>;
  /** Whether the span that is active when a decision is made gets attributes: true by default. */
  readonly spans?: boolean;
}

/** What {@link instrument} has begun. */
export interface Instrumentation {
  /** False if `@opentelemetry/api` is not there: then nothing was begun. */
  readonly active: boolean;
  /** Ends it. */
  stop(): void;
}

/** The API, if it is installed: libraries do not bring it, programs that want telemetry do. */
async function findApi(): Promise<typeof OpenTelemetry | undefined> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    // The second where a bundler has made a require of it.
    if (/^(ERR_)?MODULE_NOT_FOUND$/.test(String((error as { code?: unknown } | null)?.code))) return undefined;
    throw error;
  }
}

function listen<C extends keyof ChannelMessages>(channel: C, hear: (message: ChannelMessages[C]) => void): () => void {
  const onMessage = (message: unknown): void => hear(message as ChannelMessages[C]);
  subscribe(channel, onMessage);
  return () => void unsubscribe(channel, onMessage);
}

function checkOptions({ meter, limiters, spans }: InstrumentOptions): void {
  if (meter !== undefined && typeof (meter as Partial<OpenTelemetry.Meter>).createCounter !== 'function')
    throw new ConfigError('HEADGATE_BAD_OPTION', `instrument.meter: expected a meter of @opentelemetry/api; got ${show(meter)}`);
  if (spans !== undefined && typeof spans !== 'boolean')
    throw new ConfigError('HEADGATE_BAD_OPTION', `instrument.spans: expected true or false; got ${show(spans)}`);
  const named = limiters === undefined ? [] : Object.entries(limiters);
  const wrong = named.find(([, limiter]) => typeof (limiter as Partial<Limiter> | null)?.stats !== 'function');
  if (wrong !== undefined)
    throw new ConfigError('HEADGATE_BAD_OPTION', `instrument.limiters.${wrong[0]}: expected a limiter; got ${show(wrong[1])}`);
}

/**
 * Makes OpenTelemetry metrics of all decisions of this process, and attributes of the span that is active at a decision; nothing if
 * `@opentelemetry/api` is not installed. Rules are told by name, keys never. Call it once, after the SDK was started.
 *
 * @throws ConfigError if an option is wrong
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { instrument } from 'headgate/otel';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * const instrumentation = await instrument({ limiters: { main: limiter } });
 * console.log(instrumentation.active); // false: there is no @opentelemetry/api
 * ```
 */
export async function instrument(options: InstrumentOptions = {}): Promise<Instrumentation> {
  rejectUnknownOptions('instrument', options, ['meter', 'limiters', 'spans']);
  checkOptions(options);
  const api = await findApi();
  if (api === undefined) return { active: false, stop: () => undefined };
  const { meter = api.metrics.getMeter('headgate'), limiters = {}, spans = true } = options;
  const ends = [
    listen('headgate:decision', decisionMetrics(meter)),
    listen('headgate:event', eventMetrics(meter)),
    listen('headgate:fetch', fetchMetrics(meter)),
    statsMetrics(meter, limiters),
  ];
  if (spans)
    ends.push(
      listen(
        'headgate:decision',
        spanAttributes(() => api.trace.getActiveSpan()),
      ),
    );
  return {
    active: true,
    stop() {
      for (const end of ends.splice(0)) end();
    },
  };
}
