// A bare Fastify that answers what it is told to: what a route costs that decides nothing.
import fastify, { LogController } from 'fastify';
import { obey } from '../obey.mjs';

const fixed = new Set(['connection', 'keep-alive', 'date', 'content-length', 'content-type']);

async function serve({ check, gate }) {
  // As the service has it: requests are not logged one by one.
  const app = fastify({ logger: { level: 'error' }, logController: new LogController({ disableRequestLogging: true }) });
  const fields = ({ headers }) => headers.filter(([name]) => !fixed.has(name.toLowerCase()));
  const [ofCheck, ofGate] = [fields(check), fields(gate)];
  const answer = JSON.parse(check.body);
  app.post('/v1/check', (_request, reply) => {
    for (const [name, value] of ofCheck) reply.header(name, value);
    return answer;
  });
  app.get('/v1/gate/*', (_request, reply) => {
    for (const [name, value] of ofGate) reply.header(name, value);
    return reply.code(204).send();
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
}

obey({ serve });
