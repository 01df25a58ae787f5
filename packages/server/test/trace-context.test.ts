import { describe, expect, it } from 'vitest';
import { readTraceparent } from '../src/observe/trace-context.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('a traceparent', () => {
  it("tells the trace, the caller's span, and whether it is recorded", () => {
    expect(readTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, sampled: true });
    expect(readTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId, sampled: false });
    // Other flags say nothing of that.
    expect(readTraceparent(`00-${traceId}-${spanId}-02`)).toMatchObject({ sampled: false });
    expect(readTraceparent(`00-${traceId}-${spanId}-ff`)).toMatchObject({ sampled: true });
  });

  it('of a later version is read as far as it is known', () => {
    expect(readTraceparent(`01-${traceId}-${spanId}-01-more`)).toEqual({ traceId, spanId, sampled: true });
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['of the forbidden version', `ff-${traceId}-${spanId}-01`],
    ['of no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['of no span', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['in capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['with more than its version has', `00-${traceId}-${spanId}-01-more`],
    ['too short', `00-${traceId}-${spanId}`],
    ['endless', `01-${traceId}-${spanId}-01-${'x'.repeat(1000)}`],
  ])('that is %s is none', (_, field) => {
    expect(readTraceparent(field)).toBeUndefined();
  });
});
