import { inputError } from '../errors.js';
import { clientAddress, forwardedWatch, normalizeAddress, type Headers } from '../http/index.js';
import { readTrust } from './options.js';
import type { CommonOptions } from './types.js';
import { after, type Soon } from './soon.js';
import { watchAddresses } from './warnings.js';

/** What the core has to know of a framework's request. */
export interface Seen {
  /** Its fields by lower-case names; looked up only where they are needed, as Node and the web make them when they are first read. */
  readonly message: { readonly headers: Headers };
  readonly socketAddress: string | undefined;
}

type Options<Req> = Pick<CommonOptions<string, string, Req>, 'address' | 'addressSource' | 'trustProxies' | 'ipv6Prefix'>;

const unknown = (): Error =>
  inputError(
    'HEADGATE_BAD_KEY',
    "the client's address is not known: the socket has none (a Unix socket, a hosted function, a client that left); count the proxies before this server in trustProxies, or give address or key",
  );

/**
 * Requests whose fields are looked at for signs of a wrong setting: the first so many, and then one of so many. Signs show soon, and fields
 * that nobody else reads cost a bare route a fortieth.
 */
const closely = 1000;
const oneOf = 64;

/** Sockets' addresses whose keys are kept at hand. */
const remembered = 10_000;

/** Finds the key of a client: its address, or of an IPv6 address the prefix. */
export function addressKeys<Req>(options: Options<Req>, warn: (message: string) => void): (request: Req, seen: Seen) => Soon<string> {
  const { address: own, addressSource } = options;
  const { trust, ipv6Prefix, trustsEverybody } = readTrust(options as Options<never> as CommonOptions<string, string, never>);
  if (trustsEverybody) {
    warn('trustProxies trusts every address: any client then chooses the address it is counted by; name the proxies alone');
  }
  const watchForwarded = forwardedWatch(trust, warn);
  const watchSame = watchAddresses(warn);
  const source = addressSource === undefined ? undefined : { source: addressSource };
  // Reads the source once, so that a wrong one is found before there are requests.
  clientAddress({ socketAddress: undefined, headers: {}, trust, ...source });

  function keyOf(address: string | undefined): string {
    const key = normalizeAddress(address ?? '', { ipv6Prefix });
    if (key === undefined) throw unknown();
    return key;
  }

  const keys = new Map<string, string>();
  function keyOfSocket(address: string): string {
    const known = keys.get(address);
    if (known !== undefined) return known;
    const key = keyOf(address);
    if (keys.size >= remembered) keys.clear();
    keys.set(address, key);
    return key;
  }

  if (own !== undefined) return (request) => after(own(request), keyOf, undefined);
  const trustsNobody = 'hops' in trust && trust.hops === 0;
  let requests = 0;
  return (_request, { message, socketAddress }) => {
    requests += 1;
    const looks = requests <= closely || requests % oneOf === 0;
    if (looks) watchForwarded(message.headers);
    const key =
      trustsNobody && socketAddress !== undefined
        ? keyOfSocket(socketAddress)
        : keyOf(clientAddress({ socketAddress, headers: message.headers, trust, ...source }));
    watchSame(key, looks ? String(message.headers['user-agent']) : undefined);
    return key;
  };
}
