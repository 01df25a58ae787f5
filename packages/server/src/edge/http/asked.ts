import type { Line } from '../../usecases/gate.js';

export const gatePath = '/v1/gate';

/** What a gateway asks about when it sends the request itself: what follows the gate's own path. */
function own(method: string, url: string): Line {
  const target = url.slice(gatePath.length);
  return { method, target: target.startsWith('/') ? target : `/${target}` };
}

/**
 * The requests that a gateway may mean: by `X-Original-*` (nginx), by `X-Forwarded-*` (Caddy, Traefik), else the request itself, its path after
 * `/v1/gate`.
 *
 * Gateways pass their clients' own fields on, so any of these may be a client's invention, made up to be counted by a laxer rule.
 * Hence, where more than one is there, the rules of each apply: a field that is added can add rules and never takes one away.
 * `X-Forwarded-*` is believed of trusted peers alone. `headers` has each field's lines apart.
 */
export function linesAsked(request: { method: string; url: string; headers: NodeJS.Dict<string[]>; trusted: boolean }): Line[] {
  const { method, url, headers, trusted } = request;
  const named = (prefix: string): Line[] => {
    const methods = headers[`x-${prefix}-method`]?.filter((name) => name !== '') ?? [];
    const targets = headers[`x-${prefix}-uri`]?.filter((target) => target !== '') ?? [];
    return targets.flatMap((target) => (methods.length === 0 ? [method] : methods).map((by) => ({ target, method: by })));
  };
  const lines = [...named('original'), ...(trusted ? named('forwarded') : [])];
  const hasPath = /^\/+[^?#/]/.test(url.slice(gatePath.length));
  if (lines.length === 0 || hasPath) lines.push(own(method, url));
  return lines;
}
