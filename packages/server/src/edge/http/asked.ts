import type { Line } from '../../rules/matcher.js';
import { BadRequestError } from './errors.js';

export const gatePath = '/v1/gate';

/** What a gateway asks about when it sends the request itself: what follows the gate's own path. */
function own(method: string, url: string): Line {
  const target = url.slice(gatePath.length);
  return { method, target: target.startsWith('/') ? target : `/${target}` };
}

/** More would be work without end: one request is asked about, and what its client adds to it comes on top. */
const mostLines = 16;
const mostHosts = 16;

/**
 * The requests that a gateway may mean: by `X-Original-*` (nginx), by `X-Forwarded-*` (Caddy, Traefik), else the request itself, its path after
 * `/v1/gate`.
 *
 * Gateways pass their clients' own fields on, so any of these may be a client's invention, made up to be counted by a laxer rule.
 * Hence, where more than one is there, the rules of each apply: a field that is added can add rules and never takes one away.
 * `X-Forwarded-*` is believed of trusted peers alone. `headers` has each field's lines apart.
 *
 * @throws BadRequestError if the fields name more requests than any gateway does
 */
export function linesAsked(request: { method: string; url: string; headers: NodeJS.Dict<string[]>; trusted: boolean }): Line[] {
  const { method, url, headers, trusted } = request;
  const given = (name: string): Set<string> => new Set(headers[name]?.filter((value) => value !== ''));
  const named = (prefix: string): Line[] => {
    // Of most gateways one of the pairs is absent, of many both.
    if (headers[`x-${prefix}-uri`] === undefined) return [];
    const targets = given(`x-${prefix}-uri`);
    const methods = given(`x-${prefix}-method`);
    if (methods.size === 0) methods.add(method);
    if (targets.size * methods.size > mostLines) {
      throw new BadRequestError([
        {
          pointer: '',
          detail: `X-${prefix}-Uri and X-${prefix}-Method name more than ${mostLines} requests; let the gateway overwrite them`,
        },
      ]);
    }
    return [...targets].flatMap((target) => [...methods].map((by) => ({ target, method: by })));
  };
  const lines = [...named('original'), ...(trusted ? named('forwarded') : [])];
  const hasPath = url.startsWith('/', gatePath.length);
  if (lines.length === 0 || hasPath) lines.push(own(method, url));
  return lines;
}

const hostFields = {
  trusted: ['x-original-host', 'x-forwarded-host', 'host', ':authority'],
  others: ['x-original-host', 'host', ':authority'],
} as const;

/**
 * The hosts that a request may be for: by `X-Original-Host`, of trusted peers by `X-Forwarded-Host` (a list where several proxies wrote it), and by
 * the field `Host` itself, which of a gateway that keeps it is the client's, else the gate's own. As with lines, all of them count, so that an
 * added field takes no rule away. `headers` has each field's lines apart.
 *
 * @throws BadRequestError if the fields name more hosts than any gateway does
 */
export function hostsAsked({ headers, trusted }: { headers: NodeJS.Dict<string[]>; trusted: boolean }): string[] {
  const hosts = new Set<string>();
  for (const name of trusted ? hostFields.trusted : hostFields.others)
    for (const line of headers[name] ?? []) for (const host of line.split(',')) hosts.add(host.trim());
  hosts.delete('');
  if (hosts.size > mostHosts) {
    const detail = `X-Original-Host and X-Forwarded-Host name more than ${mostHosts} hosts; let the gateway overwrite them`;
    throw new BadRequestError([{ pointer: '', detail }]);
  }
  return [...hosts];
}
