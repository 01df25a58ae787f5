import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace, type Context, type Span, type Tracer } from '@opentelemetry/api';
import { summaryOf, type Arrival, type Trace, type Watching } from '../requests.js';

/** What is traced: the ways in which others ask for decisions. */
const traced = new Set(['/v1/check', '/v1/gate', '/v1/gate/*']);

function contextOf({ parent }: Arrival): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  });
}

interface Traced {
  readonly tracer: Tracer;
  readonly span: Span;
  readonly context: Context;
  /** The time of day at a moment of `performance.now()`: of one request, whatever is done to the clock meanwhile. */
  readonly at: (moment: number) => number;
}

function watching({ tracer, span, context, at }: Traced): Watching {
  return {
    decided({ decisions, began, ended }) {
      const { rules, outcome, sources, degraded } = summaryOf(decisions);
      span.setAttributes({
        'headgate.rules': rules,
        'headgate.outcome': outcome,
        'headgate.sources': sources,
        'headgate.degraded': degraded,
      });
      tracer.startSpan('headgate.decide', { startTime: at(began) }, trace.setSpan(context, span)).end(at(ended));
    },
    ended(status) {
      span.setAttribute('http.response.status_code', status);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(at(performance.now()));
    },
  };
}

/**
 * A span for each sampled request that asks for a decision, in its caller's trace, with one within it for the deciding. Attributes are names of
 * rules and what they said: no path, as a gateway's holds its clients' secrets, no key, no address.
 */
export const tracing =
  (tracer: Tracer): Trace =>
  (arrival) => {
    const { route, method } = arrival;
    if (route === undefined || !traced.has(route)) return undefined;
    const context = contextOf(arrival);
    const attributes = { 'http.request.method': method, 'http.route': route };
    const arrived = performance.now();
    const startTime = new Date().getTime();
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes, startTime }, context);
    const at = (moment: number): number => startTime + moment - arrived;
    return span.isRecording() ? watching({ tracer, span, context, at }) : undefined;
  };
