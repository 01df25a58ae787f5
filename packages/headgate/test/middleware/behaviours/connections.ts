import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { concurrency } from 'headgate';
import { eventually, pipeline, send, sendAndLeaveMidway, sendAndWait, statusesOn } from '../client.js';
import type { Answer, Behaviour } from '../site.js';
import { behaviour, door, left, ok, rule } from './shared.js';

const holders = (limit: number) => ({ limit: concurrency({ limit, expires: '5m' }) });

/** Holders, streams, and what shares a connection. */
export const connectionBehaviours: readonly Behaviour[] = [
  behaviour('a holder stays until the response is sent, and frees its place then', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ exports: holders(1) });
    const { pass, open, waiting } = door();
    const handler = async (): Promise<Answer> => {
      await pass();
      return ok();
    };
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler });
    const first = sendAndWait(port);
    await eventually('one is inside', () => waiting() === 1);
    assert.equal((await send(port)).status, 429);
    open();
    assert.equal((await first.answer).status, 200);
    await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
    assert.equal((await send(port)).status, 200);
  }),
  behaviour('a holder stays while a body streams', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ exports: holders(1) });
    const { pass, open, waiting } = door();
    async function* body() {
      yield 'one,';
      await pass();
      yield 'two';
    }
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler: () => ({ status: 200, body: body() }) });
    const first = sendAndWait(port);
    await eventually('it streams', () => waiting() === 1);
    assert.equal((await send(port)).status, 429);
    open();
    assert.equal((await first.answer).body, 'one,two');
    await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
  }),
  behaviour('a holder is freed when the client leaves, before the answer or in the middle of it', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ exports: holders(1) });
    const { pass, open, waiting } = door();
    async function* body() {
      yield 'one,';
      await pass();
    }
    let streams = false;
    const handler = async (): Promise<Answer> => {
      if (streams) return { status: 200, body: body() };
      await pass();
      return ok();
    };
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler });
    const gone = sendAndWait(port);
    await eventually('it is handled', () => waiting() === 1);
    gone.leave();
    await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
    streams = true;
    await sendAndLeaveMidway(port);
    await eventually('its place is free again', async () => (await left(limiter, 'exports')) === 1);
    open();
  }),
  behaviour('a holder is freed when the handler throws, and when the body breaks', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ exports: holders(1) });
    let breaks = false;
    async function* body() {
      yield 'one,';
      throw new Error('boom');
    }
    const handler = (): Answer => {
      if (breaks) return { status: 200, body: body() };
      throw new Error('boom');
    };
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler });
    assert.equal((await send(port)).status, 500);
    await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
    breaks = true;
    await send(port).catch(() => undefined);
    await eventually('its place is free again', async () => (await left(limiter, 'exports')) === 1);
  }),
  behaviour('HEAD frees its place though nobody reads the body', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ exports: holders(1) });
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler: ok });
    for (let i = 0; i < 3; i += 1) {
      assert.equal((await send(port, { method: 'HEAD' })).status, 200);
      await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
    }
  }),
  behaviour('requests that follow one another on a connection are counted each', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(3), exports: holders(1) });
    const port = await serve({ limits: [{ limiter, checks: [{ rule: 'search' }, { rule: 'exports' }] }], handler: ok });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statuses = [];
    for (let i = 0; i < 4; i += 1) {
      statuses.push((await send(port, { agent })).status);
      await eventually('its place is free', async () => (await left(limiter, 'exports')) === 1);
    }
    agent.destroy();
    assert.deepEqual(statuses, [200, 200, 200, 429]);
  }),
  behaviour('pipelined requests are counted each, and answered in their order', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(3) });
    const port = await serve({ limits: [{ limiter, rule: 'search' }], handler: ok });
    const socket = await pipeline(port, 5);
    assert.deepEqual(await statusesOn(socket, 5), [200, 200, 200, 429, 429]);
    socket.destroy();
  }),
  behaviour('all places of a pipeline are freed when its connection breaks', async ({ limiterOf, serve, host }) => {
    const limiter = limiterOf({ exports: holders(4) });
    const { pass, open, waiting } = door();
    const handler = async (): Promise<Answer> => {
      await pass();
      return ok();
    };
    const port = await serve({ limits: [{ limiter, rule: 'exports' }], handler });
    const socket = await pipeline(port, 3);
    await eventually('all three are handled', () => waiting() === 3);
    assert.equal(await left(limiter, 'exports'), 1);
    socket.destroy();
    await once(socket, 'close');
    if (host.differs.unheardInPipelines !== undefined) open();
    await eventually('all places are free', async () => (await left(limiter, 'exports')) === 4);
    open();
  }),
];
