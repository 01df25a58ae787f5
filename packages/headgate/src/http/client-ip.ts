import { BlockList, isIP, isIPv4 } from 'node:net';
import { ConfigError, show } from '../errors.js';

/** Request headers as Node has them: lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Whom to believe about a client's address: how many proxies stand before this server, or which addresses they have. */
export type Trust = { readonly hops: number } | { readonly addresses: BlockList };

/** The field that a request's proxies write, in lower case. Only this one is read: another may have come from anybody. */
export type AddressSource = 'x-forwarded-for' | 'forwarded' | 'x-real-ip';

/** The longest chain that is walked; longer ones are an attempt to make work. */
const longestChain = 64;

/**
 * Compiles whom to trust: a number of proxies (0 to 32), or their addresses and CIDRs. An empty list trusts nobody.
 *
 * @throws ConfigError naming the value
 * @example
 * ```ts
 * import { trustProxies } from 'headgate/http';
 *
 * const trust = trustProxies(['10.0.0.0/8', '::1']);
 * ```
 */
export function trustProxies(config: number | readonly string[]): Trust {
  if (typeof config === 'number') {
    if (Number.isInteger(config) && config >= 0 && config <= 32) return { hops: config };
    throw new ConfigError('HEADGATE_BAD_OPTION', `trustProxies: a number of proxies is whole, from 0 to 32; got ${show(config)}`);
  }
  if (!Array.isArray(config)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `trustProxies: expected a number of proxies or a list of CIDRs; got ${show(config)}`);
  }
  // Nobody, by a number: a BlockList makes an object of each address that it is asked about.
  if (config.length === 0) return { hops: 0 };
  const addresses = new BlockList();
  for (const entry of config as readonly unknown[]) {
    const [address = '', bits, ...rest] = typeof entry === 'string' ? entry.split('/') : [];
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || address.includes('%') || rest.length > 0 || !(prefix >= 0 && prefix <= most)) {
      throw new ConfigError('HEADGATE_BAD_OPTION', `trustProxies: expected an address or CIDR such as "10.0.0.0/8"; got ${show(entry)}`);
    }
    // Addresses are compared after folding, so `::ffff:10.0.0.0/104` has to mean 10.0.0.0/8.
    const folded = fold(address) ?? address;
    if (family === 6 && isIPv4(folded) && prefix >= 96) addresses.addSubnet(folded, prefix - 96, 'ipv4');
    else addresses.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return { addresses };
}

/** The eight 16-bit groups of an IPv6 address that `isIP` accepted. */
function groupsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const plain = dotted
    ? `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
    : address;
  const [left = '', right] = plain.split('::');
  const parse = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [head, tail] = [parse(left), right === undefined ? [] : parse(right)];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

const zerosIn = (run: string): number => run.split('0').length;

/** Canonical text of IPv6 groups (RFC 5952): the longest run of zeros is shortened, of equal ones the first. */
function textOf(groups: readonly number[]): string {
  const full = groups.map((group) => group.toString(16)).join(':');
  const runs = [...full.matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort((a, b) => zerosIn(b[0]) - zerosIn(a[0]));
  const run = runs[0];
  if (run === undefined) return full;
  return `${full.slice(0, run.index)}::${full.slice(run.index + run[0].length).replace(/^:/, '')}`;
}

/** The address inside `1.2.3.4:80`, `[::1]:443`, `fe80::1%eth0`; undefined if there is none. */
function bare(value: string): string | undefined {
  const trimmed = value.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const withPort = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(trimmed)?.[1];
  const found = bracketed ?? withPort ?? trimmed;
  const address = found.includes(':') ? found.replace(/%.*$/, '') : found;
  return isIP(address) === 0 ? undefined : address;
}

/** An address with IPv4-mapped forms folded to IPv4; undefined if it is none. */
function fold(value: string): string | undefined {
  if (isIPv4(value)) return value;
  const address = bare(value);
  if (address === undefined || isIPv4(address)) return address;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return textOf(groups);
}

/**
 * One client, one text: `::ffff:1.2.3.4`, `::ffff:102:304` and `1.2.3.4:80` are `1.2.3.4`; an IPv6 address is the prefix that one
 * customer has. Undefined for what is not an address (`node:net` decides): that is no key.
 *
 * @param options.ipv6Prefix - bits that tell clients apart, 32 to 128; 64 by default
 * @throws ConfigError naming the prefix
 * @example
 * ```ts
 * import { normalizeAddress } from 'headgate/http';
 *
 * normalizeAddress('2001:db8:0:1:a:b:c:d'); // '2001:db8:0:1::/64'
 * ```
 */
export function normalizeAddress(value: string, { ipv6Prefix = 64 }: { ipv6Prefix?: number } = {}): string | undefined {
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `ipv6Prefix: expected a whole number from 32 to 128; got ${show(ipv6Prefix)}`);
  }
  const address = fold(value);
  if (address === undefined || isIPv4(address) || ipv6Prefix === 128) return address;
  const masked = groupsOf(address).map((group, index) => {
    const bits = Math.min(16, Math.max(0, ipv6Prefix - 16 * index));
    return group & ((0xffff << (16 - bits)) & 0xffff);
  });
  return `${textOf(masked)}/${ipv6Prefix}`;
}

function isTrusted(trust: Trust, address: string, hop: number): boolean {
  if ('hops' in trust) return hop < trust.hops;
  return trust.addresses.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** Lines of one field make one list (RFC 9110, section 5.3). */
const joined = (value: Headers[string]): string => (typeof value === 'string' ? value : (value ?? []).join(','));

/** One parameter of a `Forwarded` element. Unquoted addresses with ports are against the grammar, and common. */
const parameter = /[ \t]*([!#$%&'*+.^_`|~\w-]+)=(?:([^\s;,"\\]+)|"((?:[^"\\]|\\.)*)")[ \t]*(?:;|$)/y;

/** The `for` of a `Forwarded` element; undefined if it has none, has two, or cannot be read. */
function forOf(element: string): string | undefined {
  let found: string | undefined;
  for (parameter.lastIndex = 0; parameter.lastIndex < element.length;) {
    const [whole, name = '', plain, quoted = ''] = parameter.exec(element) ?? [];
    if (whole === undefined) return undefined;
    if (name.toLowerCase() !== 'for') continue;
    if (found !== undefined) return undefined;
    found = plain ?? quoted.replace(/\\(.)/g, '$1');
  }
  return found;
}

/** Where the last element of a list begins, read from the right: a quote left open further left cannot swallow it. */
function lastElement(value: string): number {
  let quoted = false;
  for (let index = value.length - 1; index >= 0; index -= 1) {
    if (value[index] === ',' && !quoted) return index + 1;
    if (value[index] !== '"') continue;
    let escapes = 0;
    while (value[index - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) quoted = !quoted;
    index -= escapes;
  }
  return 0;
}

/** What the proxies wrote, nearest first; undefined stands for an element that names nobody. */
function* chainOf(headers: Headers, source: AddressSource): Generator<string | undefined, void> {
  let left = joined(headers[source]);
  if (left === '') return;
  // X-Real-IP is one address, whatever the number of proxies: a second one is somebody else's.
  if (source === 'x-real-ip') {
    yield left;
    return;
  }
  for (let length = 0; length < longestChain; length += 1) {
    const start = source === 'forwarded' ? lastElement(left) : left.lastIndexOf(',') + 1;
    const element = left.slice(start);
    yield source === 'forwarded' ? forOf(element) : element;
    if (start === 0) return;
    left = left.slice(0, start - 1);
  }
}

/**
 * Whether the peer of a connection is a proxy whose word counts, also about other things, such as `X-Forwarded-Proto`.
 *
 * @example
 * ```ts
 * import { trustProxies, trustsPeer } from 'headgate/http';
 *
 * trustsPeer(trustProxies(['10.0.0.0/8']), '::ffff:10.0.0.1'); // true
 * ```
 */
export function trustsPeer(trust: Trust, socketAddress: string | undefined): boolean {
  const peer = fold(socketAddress ?? '');
  return peer !== undefined && isTrusted(trust, peer, 0);
}

const sources: readonly string[] = ['x-forwarded-for', 'forwarded', 'x-real-ip'] satisfies AddressSource[];

/**
 * The client's own address: the socket's, unless that is a trusted proxy; then `X-Forwarded-For` (or `Forwarded`, RFC 7239) is
 * walked from the right to the first address that is not trusted. What lies further left anybody may have written, so it changes
 * nothing. An element that is no address (`unknown`, an obfuscated name) ends the walk at the last one that is. Where the socket
 * has none (a Unix socket, a hosted function) it counts as a proxy if proxies are counted; else undefined. Whole addresses: a key is made of one by {@link normalizeAddress}.
 *
 * @param request.source - the one field to read, `'x-forwarded-for'` by default
 * @throws ConfigError naming the source
 * @example
 * ```ts
 * import { clientAddress, trustProxies } from 'headgate/http';
 *
 * clientAddress({ socketAddress: '10.0.0.1', headers: { 'x-forwarded-for': '6.6.6.6, 9.9.9.9' }, trust: trustProxies(1) }); // '9.9.9.9'
 * ```
 */
export function clientAddress(request: {
  socketAddress: string | undefined;
  headers: Headers;
  trust: Trust;
  source?: AddressSource;
}): string | undefined {
  const { headers, trust, source = 'x-forwarded-for' } = request;
  if (!sources.includes(source)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `clientAddress.source: expected one of ${sources.join(', ')}; got ${show(source)}`);
  }
  let address = fold(request.socketAddress ?? '');
  // A proxy on a Unix socket has no address, and neither have the proxies of hosted functions; counted they can be.
  if (address === undefined ? !('hops' in trust) || trust.hops === 0 : !isTrusted(trust, address, 0)) return address;
  let hop = 0;
  for (const element of chainOf(headers, source)) {
    const next = fold(element ?? '');
    if (next === undefined) break;
    address = next;
    hop += 1;
    if (!isTrusted(trust, address, hop)) break;
  }
  return address;
}

/**
 * Warns once if requests carry forwarded addresses that nobody is trusted to write: then every client has the proxy's
 * address, and all share one budget. Call what it returns with each request's headers.
 *
 * @param warn - called once at most, with a sentence that names no address
 * @example
 * ```ts
 * import { forwardedWatch, trustProxies } from 'headgate/http';
 *
 * const watch = forwardedWatch(trustProxies(0), (message) => console.warn(message));
 * watch({ 'x-forwarded-for': '9.9.9.9' }); // warns
 * watch({ 'x-forwarded-for': '9.9.9.9' }); // is silent
 * ```
 */
export function forwardedWatch(trust: Trust, warn: (message: string) => void): (headers: Headers) => void {
  const trustsNobody = 'hops' in trust ? trust.hops === 0 : trust.addresses.rules.length === 0;
  let warned = !trustsNobody;
  return (headers) => {
    if (warned || sources.every((source) => headers[source] === undefined)) return;
    warned = true;
    warn(
      'requests carry forwarded addresses, but no proxy is trusted: clients behind one proxy share one budget; name the proxies in trustProxies',
    );
  };
}
