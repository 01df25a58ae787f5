import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, rateLimitFields, trustsPeer } from 'headgate/http';
import { gate } from '../../usecases/gate.js';
import type { Service } from '../../usecases/service.js';
import { gatePath, hostsAsked, linesAsked } from './asked.js';
import { plainProblem, sendProblem } from './errors.js';
import { deciding } from './watch.js';

/** nginx knows only 401 and 403 from an auth_request, and keeps its connection only if the body is empty and says so. */
function refuseEmpty(reply: FastifyReply, status: number): FastifyReply {
  return reply.code(403).header('x-headgate-status', String(status)).header('content-length', '0').send();
}

/** Answers gateways: 204, or why not. Any method and body: it answers before Fastify looks at a body, which Node then drops. */
export function gateRoutes(app: FastifyInstance, service: Service): void {
  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { method, url } = request;
    const { headersDistinct: headers } = request.raw;
    const { remoteAddress: socketAddress } = request.socket;
    const trusted = trustsPeer(service.current().rules.trust, socketAddress);
    const question = {
      socketAddress,
      headers,
      lines: linesAsked({ method, url, headers, trusted }),
      hosts: hostsAsked({ headers, trusted }),
    };
    const decide = () => gate(service, question);
    const answer = await deciding(request, decide, (made) => ('answers' in made ? made.answers : []));
    reply.header('cache-control', 'no-store');
    const asEmpty = /[?&]refuse=403(&|$)/.test(url);
    if ('lacking' in answer) {
      const why = answer.rule === undefined ? 'which tells its plan' : `which the rule ${JSON.stringify(answer.rule)} counts by`;
      const detail = `this request has ${answer.lacking}, ${why}`;
      return asEmpty ? refuseEmpty(reply, 403) : sendProblem(reply, plainProblem(403, { detail }));
    }
    reply.headers(rateLimitFields(answer.answers));
    const problem = answer.pass ? undefined : problemOf(answer.answers.map(({ decision }) => decision));
    if (problem === undefined) return reply.code(204).send();
    return asEmpty ? refuseEmpty(reply, problem.status) : sendProblem(reply, problem);
  }

  const methods = METHODS.filter((method) => method !== 'CONNECT');
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  for (const url of [gatePath, `${gatePath}/*`])
    app.route({ method: methods, url, onRequest: handle, handler: (_request, reply) => reply });
}
