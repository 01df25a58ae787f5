import { describe, expect, it } from 'vitest';
import { start } from './support/service.js';

describe('devices over HTTP', () => {
  it('are known to the account that they were issued for, and to no other', async () => {
    const { post } = await start({ secret: 'a secret of this fleet' });
    const { json: issued, headers } = await post('/v1/devices', { account: 'alice' });
    expect(headers['cache-control']).toBe('no-store');
    const { device } = issued as { device: string };
    const { json: known } = await post('/v1/devices/verify', { account: 'alice', device });
    expect(known).toEqual({ known: true, id: expect.stringMatching(/^[\w-]{22}$/) as string });
    for (const [account, token] of [
      ['bob', device],
      ['alice', `${device}x`],
      ['alice', ''],
    ])
      expect((await post('/v1/devices/verify', { account, device: token })).json).toEqual({ known: false, id: null });
    const other = await start({ secret: 'a secret of another one' });
    expect((await other.post('/v1/devices/verify', { account: 'alice', device })).json.known).toBe(false);
  });

  it('are asked about by POST alone', async () => {
    const { get } = await start();
    for (const path of ['/v1/devices', '/v1/devices/verify'])
      expect(await get(path)).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });
});
