import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clientAddress,
  forwardedWatch,
  normalizeAddress,
  trustProxies,
  trustsPeer,
  type AddressSource,
  type Headers,
} from '../src/http/index.js';

const proxies = trustProxies(['10.0.0.0/8', 'fd00::/8']);
const badOption = (part: string): Error =>
  expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining(part) as string }) as Error;

function client(
  value: string | string[] | undefined,
  { trust = proxies, source, socket = '10.0.0.1' }: { trust?: typeof proxies; source?: AddressSource; socket?: string } = {},
): string | undefined {
  const headers: Headers = { [source ?? 'x-forwarded-for']: value };
  return clientAddress({ socketAddress: socket, headers, trust, ...(source === undefined ? undefined : { source }) });
}

describe('one client', () => {
  it('is one text, however its IPv4 address is written', () => {
    for (const text of [
      '1.2.3.4',
      '::ffff:1.2.3.4',
      '::ffff:102:304',
      '::FFFF:0102:0304',
      '0:0:0:0:0:ffff:1.2.3.4',
      '1.2.3.4:80',
      '[::ffff:1.2.3.4]:443',
      ' 1.2.3.4 ',
    ]) {
      expect(normalizeAddress(text)).toBe('1.2.3.4');
    }
  });

  it('is the whole /64 of an IPv6 address, or what was configured', () => {
    expect(normalizeAddress('2001:db8:0:1:a:b:c:d')).toBe('2001:db8:0:1::/64');
    expect(normalizeAddress('2001:DB8:0:1::9')).toBe('2001:db8:0:1::/64');
    expect(normalizeAddress('[2001:db8:0:1::9]:443')).toBe('2001:db8:0:1::/64');
    expect(normalizeAddress('2001:db8:0:2::9')).not.toBe('2001:db8:0:1::/64');
    expect(normalizeAddress('2001:db8:0:1ff::9', { ipv6Prefix: 56 })).toBe('2001:db8:0:100::/56');
    expect(normalizeAddress('2001:db8:ffff::9', { ipv6Prefix: 32 })).toBe('2001:db8::/32');
    expect(normalizeAddress('2001:db8::9', { ipv6Prefix: 128 })).toBe('2001:db8::9');
    expect(normalizeAddress('fe80::1%eth0')).toBe('fe80::/64');
    expect(normalizeAddress('::1')).toBe('::/64');
  });

  it('is never what is not an address', () => {
    for (const text of [
      '',
      'unknown',
      '_hidden',
      '1',
      '010.0.0.1',
      '1.2.3',
      '1.2.3.4%eth0',
      '1.2.3.4.5',
      '[::1',
      '::1]',
      '1.2.3.4:x',
      'example.com',
      '1.2.3.4, 5.6.7.8',
      ':::',
    ]) {
      expect(normalizeAddress(text)).toBeUndefined();
    }
  });

  it('has the canonical text of RFC 5952, as URLs have it', () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const text = groups.map((g) => g.toString(16)).join(':');
        fc.pre(!/^0:0:0:0:0:ffff:/.test(text));
        expect(`[${normalizeAddress(text, { ipv6Prefix: 128 })}]`).toBe(new URL(`http://[${text}]`).hostname);
      }),
      { numRuns: 1000 },
    );
  });

  it('needs a prefix from 32 to 128', () => {
    for (const ipv6Prefix of [0, 31, 129, 64.5, NaN])
      expect(() => normalizeAddress('::1', { ipv6Prefix })).toThrow(badOption(String(ipv6Prefix)));
  });
});

describe('X-Forwarded-For', () => {
  it('is ignored if the peer is no trusted proxy', () => {
    expect(client('6.6.6.6', { socket: '9.9.9.9' })).toBe('9.9.9.9');
    expect(client('6.6.6.6', { trust: trustProxies([]) })).toBe('10.0.0.1');
    expect(clientAddress({ socketAddress: undefined, headers: { 'x-forwarded-for': '6.6.6.6' }, trust: trustProxies([]) })).toBeUndefined();
    expect(trustsPeer(trustProxies([]), '10.0.0.1')).toBe(false);
    expect(client('6.6.6.6', { trust: trustProxies(0) })).toBe('10.0.0.1');
  });

  it('names the client after three hops, by addresses or by count', () => {
    const value = '9.9.9.9, 10.0.0.3, 10.0.0.2';
    expect(client(value)).toBe('9.9.9.9');
    expect(client(value, { trust: trustProxies(3) })).toBe('9.9.9.9');
    expect(client(value, { trust: trustProxies(2) })).toBe('10.0.0.3');
  });

  it('changes nothing by a forged left part', () => {
    const forged = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.9', 'unknown', '"', ',', '\\'));
    fc.assert(
      fc.property(fc.array(forged), (parts) => {
        expect(client(`${parts.join(', ')}, 9.9.9.9, 10.0.0.2`)).toBe('9.9.9.9');
        expect(client(`${parts.join(', ')}, 9.9.9.9`, { trust: trustProxies(1) })).toBe('9.9.9.9');
      }),
    );
  });

  it('is joined if it came in several lines', () => {
    expect(client(['6.6.6.6', '9.9.9.9, 10.0.0.2'])).toBe('9.9.9.9');
  });

  it('stops at what is no address, and at the end of the list', () => {
    expect(client('9.9.9.9, unknown, 10.0.0.2')).toBe('10.0.0.2');
    expect(client('9.9.9.9, ')).toBe('10.0.0.1');
    expect(client('10.0.0.3, 10.0.0.2')).toBe('10.0.0.3');
    expect(client(undefined)).toBe('10.0.0.1');
    expect(client('')).toBe('10.0.0.1');
  });

  it('reads addresses with ports, brackets and IPv4 inside IPv6', () => {
    expect(client('9.9.9.9:1234, ::ffff:10.0.0.2')).toBe('9.9.9.9');
    expect(client('[2001:db8::1]:443, [fd00::2]')).toBe('2001:db8::1');
    expect(client('9.9.9.9', { socket: '::ffff:10.0.0.1' })).toBe('9.9.9.9');
  });

  it('is walked 64 elements at most, and does not read other fields', () => {
    expect(client(`9.9.9.9, ${Array.from({ length: 64 }, () => '10.0.0.7').join(', ')}`)).toBe('10.0.0.7');
    expect(
      clientAddress({ socketAddress: '10.0.0.1', headers: { forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6' }, trust: proxies }),
    ).toBe('10.0.0.1');
  });

  it('is read where the socket has no address only if proxies are counted, not named', () => {
    const behindUnixSocket = (trust: typeof proxies, value?: string) =>
      clientAddress({ socketAddress: undefined, headers: { 'x-forwarded-for': value }, trust });
    expect(behindUnixSocket(trustProxies(1), '6.6.6.6, 9.9.9.9')).toBe('9.9.9.9');
    expect(behindUnixSocket(trustProxies(2), '6.6.6.6, 9.9.9.9, 10.0.0.7')).toBe('9.9.9.9');
    expect(behindUnixSocket(trustProxies(1))).toBeUndefined();
    expect(behindUnixSocket(trustProxies(0), '9.9.9.9')).toBeUndefined();
    expect(behindUnixSocket(proxies, '9.9.9.9')).toBeUndefined();
  });
});

describe('Forwarded', () => {
  const forwarded = (value: string | string[], trust = proxies): string | undefined => client(value, { source: 'forwarded', trust });

  it('names the client, quoted, bracketed, with ports and other parameters', () => {
    expect(forwarded('for=9.9.9.9;proto=https;by=10.0.0.1, For="10.0.0.2:80"')).toBe('9.9.9.9');
    expect(forwarded('proto=http;FOR="[2001:db8::1]:4711";host="a,b;for=6.6.6.6"')).toBe('2001:db8::1');
    expect(forwarded('for=9.9.9.9:4711')).toBe('9.9.9.9');
    expect(forwarded(['for=6.6.6.6', 'for=9.9.9.9', 'for=10.0.0.2'])).toBe('9.9.9.9');
  });

  it('stops at unknown, obfuscated, unreadable and doubled elements, at the last address before', () => {
    for (const element of [
      'for=unknown',
      'for=_gazonk',
      'for="_x:80"',
      'by=9.9.9.9',
      'for=9.9.9.9;for=9.9.9.9',
      'for',
      'for="9.9.9.9',
      '',
      'for=9.9.9.9 junk',
      'for=9.9.9.9;"',
    ]) {
      expect(forwarded(`for=6.6.6.6, ${element}, for=10.0.0.2`)).toBe('10.0.0.2');
    }
  });

  it('changes nothing by a forged left part, with open quotes and escapes in it', () => {
    const piece = fc.oneof(fc.constantFrom('"', '\\', ',', ';', '=', 'for=', 'for="', ' ', '6.6.6.6', '\\"'), fc.string({ maxLength: 3 }));
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        expect(forwarded(`${pieces.join('')}, for="9.9.9.9:1";host="x,\\"y", for=10.0.0.2`)).toBe('9.9.9.9');
        expect(forwarded(`${pieces.join('')}, for="[2001:db8::1]"`, trustProxies(1))).toBe('2001:db8::1');
      }),
      { numRuns: 1000 },
    );
  });

  it('takes no long time for a long forgery', () => {
    const started = performance.now();
    for (const unit of ['"', '\\', '\\"', ';', 'a=', ',', ' ', 'for="']) forwarded(`${unit.repeat(64_000)}, for=10.0.0.2`);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('X-Real-IP', () => {
  it('is read only where configured and the peer is trusted, and only if it is one address', () => {
    expect(client('9.9.9.9', { source: 'x-real-ip' })).toBe('9.9.9.9');
    expect(client('9.9.9.9', { source: 'x-real-ip', socket: '8.8.8.8' })).toBe('8.8.8.8');
    expect(client('6.6.6.6, 9.9.9.9', { source: 'x-real-ip' })).toBe('10.0.0.1');
    expect(client(['6.6.6.6', '9.9.9.9'], { source: 'x-real-ip' })).toBe('10.0.0.1');
  });

  it('is one of three fields that can be configured', () => {
    expect(() => client('x', { source: 'X-Client-IP' as AddressSource })).toThrow(badOption('"X-Client-IP"'));
  });
});

describe('trust', () => {
  it('is compiled from addresses, CIDRs or a number, and says what it cannot use', () => {
    for (const bad of ['10.0.0.0/33', '10.0.0/8', '::1/129', 'localhost', '', '10.0.0.0/8/8', '10.0.0.0/', 'fe80::1%eth0']) {
      expect(() => trustProxies(['10.0.0.1', bad])).toThrow(badOption(JSON.stringify(bad)));
    }
    for (const bad of [-1, 1.5, NaN, 33]) expect(() => trustProxies(bad)).toThrow(badOption(String(bad)));
    expect(() => trustProxies('10.0.0.1' as unknown as string[])).toThrow(badOption('"10.0.0.1"'));
    expect(() => trustProxies([7 as unknown as string])).toThrow(badOption('7'));
  });

  it('covers an IPv4 range written as IPv6', () => {
    expect(trustsPeer(trustProxies(['::ffff:10.0.0.0/104']), '10.9.9.9')).toBe(true);
    expect(trustsPeer(trustProxies(['::ffff:10.0.0.0/104']), '11.0.0.1')).toBe(false);
  });

  it('is known of a peer', () => {
    expect(trustsPeer(proxies, '::ffff:10.0.0.1')).toBe(true);
    expect(trustsPeer(proxies, '9.9.9.9')).toBe(false);
    expect(trustsPeer(proxies, undefined)).toBe(false);
    expect(trustsPeer(trustProxies(1), '9.9.9.9')).toBe(true);
  });
});

describe('forwarded addresses while nobody is trusted', () => {
  it('are warned of once, whichever field they come in, and never by address', () => {
    for (const field of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      const warnings: string[] = [];
      const watch = forwardedWatch(trustProxies([]), (message) => warnings.push(message));
      watch({ host: 'example.com' });
      expect(warnings).toEqual([]);
      watch({ [field]: '9.9.9.9' });
      watch({ [field]: '9.9.9.9' });
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/trustProxies/);
      expect(warnings[0]).not.toContain('9.9.9.9');
    }
  });

  it('are nothing to warn of once a proxy is trusted', () => {
    const warnings: string[] = [];
    for (const trust of [proxies, trustProxies(1)])
      forwardedWatch(trust, (message) => warnings.push(message))({ 'x-forwarded-for': '9.9.9.9' });
    expect(warnings).toEqual([]);
  });
});
