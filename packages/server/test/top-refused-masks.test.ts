import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeAddress } from 'headgate/http';
import { Masks } from '../src/observe/masks.js';
import { secret } from './support/traffic.js';

const masks = new Masks(secret);

describe('masks of keys', () => {
  it('tell what a key looks like, and nothing of what it says', () => {
    const shapes = Object.entries({
      '203.0.113.9': 'ip4',
      [normalizeAddress('2001:db8:0:1:a:b:c:d')!]: 'ip6',
      '2001:db8::1': 'ip6',
      'alice@example.com': 'text(17)',
      '*': 'text(1)',
      ['k'.repeat(65_536)]: 'text(65536)',
      '["203.0.113.9","alice"]': 'parts(2)',
      '["not json': 'text(10)',
      '1.2.3': 'text(5)',
    });
    for (const [key, shape] of shapes) expect(masks.maskOf(key)).toMatch(new RegExp(`^${shape.replace(/[()]/g, '\\$&')}:[0-9a-f]{12}$`));
  });

  it('never contain the key', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ minLength: 5 }), fc.ipV4(), fc.ipV6(), fc.emailAddress(), fc.uuid()), (key) => {
        const mask = masks.maskOf(key);
        expect(mask).not.toContain(key);
        expect(mask).toMatch(/^(ip4|ip6|text\(\d+\)|parts\(\d+\)):[0-9a-f]{12}$/);
      }),
    );
  });

  it('are the same on all servers with the same secret, and others with another', () => {
    expect(new Masks(secret).maskOf('203.0.113.9')).toBe(masks.maskOf('203.0.113.9'));
    expect(new Masks(`${secret}.`).maskOf('203.0.113.9')).not.toBe(masks.maskOf('203.0.113.9'));
    expect(new Masks(Buffer.from(secret)).maskOf('203.0.113.9')).toBe(masks.maskOf('203.0.113.9'));
  });

  it('stay the same between versions: operators keep them', () => {
    expect(masks.maskOf('203.0.113.9')).toBe('ip4:1822f80f1f73');
  });

  it('differ for keys that differ', () => {
    expect(new Set(Array.from({ length: 10_000 }, (_, i) => masks.maskOf(`10.0.${i >> 8}.${i & 255}`))).size).toBe(10_000);
  });
});
