import type { Span } from '@opentelemetry/api';
import type { DecisionMessage } from '../channels.js';
import { attributesOf } from './attributes.js';

/** Sets the attributes of the span that a decision is made in. Of several decisions the last is told, but a refusal stays. */
export function spanAttributes(activeSpan: () => Span | undefined): (message: DecisionMessage) => void {
  const refused = new WeakSet<Span>();
  return (message) => {
    const span = activeSpan();
    if (span === undefined || !span.isRecording()) return;
    if (message.allowed && refused.has(span)) return;
    if (!message.allowed) refused.add(span);
    span.setAttributes(attributesOf(message));
  };
}
