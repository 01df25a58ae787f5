import fastify from 'fastify';
import type { Store } from 'headgate';
import { serve as serveEndpoints } from '../../src/edge/http/endpoint.js';
import { problemErrors } from '../../src/edge/http/errors.js';
import { storeEndpoints } from '../../src/edge/http/store.js';
import { storeOperations, type Operation } from '../../src/usecases/store-operations.js';

export const token = 'a-token-of-the-tests';

/** Operations of each request that came. */
export type Seen = (readonly Operation[])[];

/** A store as a service serves it, on a free port. `fate` is asked before a request is answered: to hang, or to hang up. */
export async function serve(store: Store, fate: () => 'answer' | 'silence' | 'hangup' = () => 'answer') {
  const run = storeOperations(store);
  const seen: Seen = [];
  const connections = new Set<unknown>();
  const app = fastify();
  problemErrors(app);
  app.server.on('connection', (socket) => connections.add(socket));
  app.addHook('onSend', async (request, _reply, payload) => {
    const what = fate();
    if (what === 'hangup') request.raw.socket.destroy();
    if (what === 'silence') await new Promise(() => undefined);
    return payload;
  });
  const endpoints = storeEndpoints({
    token,
    run(operations) {
      seen.push(operations);
      return run(operations);
    },
  });
  serveEndpoints(app, endpoints);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    seen,
    connections,
    async close() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}
