import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceTokens } from '../src/http/index.js';
import { fakeClock } from '../src/testing/index.js';

const secret = 'a secret of at least 16';

describe('a device token', () => {
  it('tells the device on which an account logged in, the same on every server with the secret', () => {
    const token = deviceTokens({ secret }).issue('alice');
    const id = deviceTokens({ secret }).verify('alice', token);
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(token).not.toContain('alice');
  });

  it('is another for each device', () => {
    const devices = deviceTokens({ secret });
    expect(devices.verify('alice', devices.issue('alice'))).not.toBe(devices.verify('alice', devices.issue('alice')));
  });

  it('is worth nothing for another account, under another secret, or once it has ended', () => {
    const clock = fakeClock();
    const devices = deviceTokens({ secret, validFor: '1h', clock });
    const token = devices.issue('alice');
    expect(devices.verify('bob', token)).toBeUndefined();
    expect(deviceTokens({ secret: 'another secret of 16', clock }).verify('alice', token)).toBeUndefined();
    clock.advance(3_599_000_000);
    expect(devices.verify('alice', token)).toBeDefined();
    clock.advance(1_000_000);
    expect(devices.verify('alice', token)).toBeUndefined();
  });

  it('cannot be changed: no account and end share a signature with others', () => {
    const devices = deviceTokens({ secret });
    fc.assert(
      fc.property(fc.string(), fc.nat(80), fc.string({ minLength: 1, maxLength: 1 }), (account, at, letter) => {
        fc.pre(account !== '' && account.isWellFormed());
        const token = devices.issue(account);
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        // The last character of 22 holds two bits that are no part of the 128.
        fc.pre(changed !== token && at < token.length - 1);
        return devices.verify(account, changed) === undefined;
      }),
    );
  });

  it.each([undefined, null, 5, '', 'x'.repeat(100_000), '1..', '1.zzzzzzzzzz.a.b', {}])('that is %j is no token, and no error', (token) => {
    expect(deviceTokens({ secret }).verify('alice', token)).toBeUndefined();
  });

  it('needs a secret, a time and an account that are fit for it', () => {
    expect(() => deviceTokens({ secret: 'short' })).toThrow('at least 16 characters');
    expect(() => deviceTokens({ secret, validFor: '1ms' })).toThrow('at least 1s');
    expect(() => deviceTokens({ secret, vaildFor: '1h' } as never)).toThrow('vaildFor');
    expect(() => deviceTokens({ secret }).issue('')).toThrow(expect.objectContaining({ code: 'HEADGATE_BAD_KEY' }) as Error);
  });
});
