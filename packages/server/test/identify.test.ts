import { trustProxies } from 'headgate/http';
import { describe, expect, it } from 'vitest';
import { compileKey, compileSources, keyOf } from '../src/rules/identify.js';

type Headers = Record<string, string | string[]>;

const by = {
  trust: trustProxies(['10.0.0.0/8']),
  ipv6Prefix: 64,
  sources: { apiKey: compileSources(['header:x-api-key', 'bearer']), account: compileSources(['header:x-account']) },
};
const key = (parts: string[], headers: Headers = {}, socketAddress = '192.0.2.1') =>
  keyOf(compileKey(parts), { socketAddress, headers }, by);

describe('a key', () => {
  it('is the API key: the first of its sources that is there', () => {
    expect(key(['apiKey'], { 'x-api-key': 'k', authorization: 'Bearer t' })).toEqual({ key: 'k' });
    expect(key(['apiKey'], { authorization: 'bearer  t' })).toEqual({ key: 't' });
    expect(key(['apiKey'], { 'x-api-key': ' ', authorization: 'Bearer t' })).toEqual({ key: 't' });
    expect(key(['apiKey'], { authorization: 'Basic YTpi' })).toEqual({ missing: { from: 'apiKey' } });
  });

  it('is missing if one of its parts is, and never one budget for everybody', () => {
    expect(key(['ip', 'account'])).toEqual({ missing: { from: 'account' } });
    expect(key(['account'], { 'x-account': '' })).toEqual({ missing: { from: 'account' } });
    expect(key(['cookie:sid'], { cookie: 'asid=1; sid=' })).toEqual({ missing: { from: 'cookie', name: 'sid' } });
    expect(key(['ip'], {}, '')).toEqual({ missing: { from: 'ip' } });
  });

  it('joins several parts so that no two clients meet', () => {
    const a = key(['header:a', 'header:b'], { a: 'x', b: 'y,z' });
    const b = key(['header:a', 'header:b'], { a: 'x,y', b: 'z' });
    const c = key(['header:a', 'header:b'], { a: 'x","y', b: 'z' });
    expect(new Set([a, b, c].map((each) => JSON.stringify(each))).size).toBe(3);
    expect(key(['*'])).toEqual({ key: '*' });
  });

  it('reads cookies by their exact name', () => {
    expect(key(['cookie:sid'], { cookie: 'xsid=1; sid="two"; sid=3' })).toEqual({ key: 'two' });
  });

  it('is what a field says that came twice with the same value', () => {
    expect(key(['apiKey'], { 'x-api-key': ['k', ' k '] })).toEqual({ key: 'k' });
    expect(key(['apiKey'], { 'x-api-key': 'k ' })).toEqual({ key: 'k' });
    expect(key(['apiKey'], { 'x-api-key': [] })).toEqual({ missing: { from: 'apiKey' } });
  });

  it('is none where a field came twice with different values: a client would make up one budget after the other', () => {
    expect(key(['header:x-team'], { 'x-team': ['real', 'made-up'] })).toEqual({ several: { from: 'header', name: 'x-team' } });
    expect(key(['apiKey'], { 'x-api-key': ['k', 'made-up'] })).toEqual({ several: { from: 'apiKey' } });
    expect(key(['bearer'], { authorization: ['Bearer k', 'Bearer made-up'] })).toEqual({ several: { from: 'bearer' } });
    expect(key(['apiKey'], { 'x-api-key': ['k', ' k'] })).toEqual({ key: 'k' });
    expect(key(['cookie:sid'], { cookie: ['a=1', 'sid=2'] })).toEqual({ key: '2' });
  });

  it('is not what every object has', () => {
    expect(key(['header:constructor'])).toEqual({ missing: { from: 'header', name: 'constructor' } });
    expect(key(['header:__proto__'])).toEqual({ missing: { from: 'header', name: '__proto__' } });
  });

  it('is refused where a misspelt part would be one budget for everybody', () => {
    for (const part of ['IP', 'api-key', 'apikey', 'Account', 'accounts', 'clientIp', 'header', 'header:', 'header: x', 'Cookie:sid']) {
      expect(() => compileKey([part]), part).toThrow(/did you mean/);
    }
  });
});

describe('an address', () => {
  it('is one for one client: mapped forms, and all of a /64 (case 31)', () => {
    const addresses = ['::ffff:1.2.3.4', '::ffff:102:304', '1.2.3.4'];
    expect(new Set(addresses.map((address) => JSON.stringify(key(['ip'], {}, address)))).size).toBe(1);
    expect(key(['ip'], {}, '2001:db8:0:1::1')).toEqual(key(['ip'], {}, '2001:db8:0:1:ffff::2'));
    expect(key(['ip'], {}, '2001:db8:0:2::1')).not.toEqual(key(['ip'], {}, '2001:db8:0:1::1'));
    const wider = (socketAddress: string) => keyOf(compileKey(['ip']), { socketAddress, headers: {} }, { ...by, ipv6Prefix: 56 });
    expect(wider('2001:db8:0:2::1')).toEqual(wider('2001:db8:0:1::1'));
    expect(wider('2001:db8:0:100::1')).not.toEqual(wider('2001:db8:0:1::1'));
  });

  it('is the socket, whatever an untrusted peer says (case 32)', () => {
    expect(key(['ip'], { 'x-forwarded-for': '9.9.9.9' })).toEqual({ key: '192.0.2.1' });
  });

  it('is the rightmost that is not trusted, whatever is forged left of it (case 32)', () => {
    expect(key(['ip'], { 'x-forwarded-for': '6.6.6.6, 9.9.9.9, 10.0.0.2, 10.0.0.3' }, '10.0.0.1')).toEqual({ key: '9.9.9.9' });
    expect(key(['ip'], { 'x-forwarded-for': '7.7.7.7, 9.9.9.9, 10.0.0.2, 10.0.0.3' }, '::ffff:10.0.0.1')).toEqual({ key: '9.9.9.9' });
  });
});
