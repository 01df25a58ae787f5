import { trustsPeer } from 'headgate/http';
import { keyOf, type Identifiable, type Identification, type SourcePart } from './identify.js';

/** A request's plan, or which field tells several. */
export type FoundPlan = { readonly plan: string | undefined } | { readonly several: SourcePart };

/**
 * A request's plan: the first of its sources that is there, told by a peer in `trustProxies`; of others there is none, as a plan chooses the limit.
 * Several plans are none of them: a client that may add a line would choose.
 */
export function planOf(sources: readonly SourcePart[], request: Identifiable, by: Identification): FoundPlan {
  if (sources.length === 0 || !trustsPeer(by.trust, request.socketAddress)) return { plan: undefined };
  for (const source of sources) {
    const found = keyOf([source], request, by);
    if ('several' in found) return { several: source };
    if ('key' in found) return { plan: found.key };
  }
  return { plan: undefined };
}
