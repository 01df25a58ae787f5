// A fleet of app servers behind a balancer that sends each request to the next server, or a client always to the same one.
import { fork } from 'node:child_process';
import { Agent, request } from 'node:http';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const serverFile = join(import.meta.dirname, 'server.mjs');

/** Starts `size` servers and the balancer; `counting`, `limit` and `redisPort` are each server's arguments. */
export async function startFleet({ size, counting, limit, redisPort, sticky = false }) {
  const children = [];
  const ports = [];
  const join = async (more) => {
    const started = Array.from({ length: more }, () => fork(serverFile, [counting, String(limit), String(redisPort)]));
    children.push(...started);
    for (const child of started) ports.push((await once(child, 'message'))[0]);
  };
  await join(size);

  let next = 0;
  const balancer = createServer((incoming, outgoing) => {
    const port = sticky ? ports[0] : ports[next++ % ports.length];
    const onward = request({ port, host: '127.0.0.1', agent, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  return {
    port: balancer.address().port,
    join,
    async stop() {
      balancer.closeAllConnections();
      balancer.close();
      for (const child of children) child.disconnect();
      await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : undefined)));
    },
  };
}

function ask(port, client) {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', agent, headers: { 'x-client': client } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ passed: answer.statusCode === 200, degraded: answer.headers.degraded === 'true' }));
    })
      .on('error', reject)
      .end();
  });
}

/** Sends `total` requests of one client, 32 at a time; how many passed, and how many were decided without the shared store. */
export async function drive(port, client, total) {
  let sent = 0;
  let passed = 0;
  let degraded = 0;
  const worker = async () => {
    while (sent < total) {
      sent += 1;
      const answer = await ask(port, client);
      if (answer.passed) passed += 1;
      if (answer.degraded) degraded += 1;
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return { passed, degraded };
}
