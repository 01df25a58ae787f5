import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, rateLimitFields, type Problem } from 'headgate/http';
import { gate } from '../../usecases/gate.js';
import type { Service } from '../../usecases/service.js';
import { sendProblem } from './errors.js';

const prefix = '/v1/gate';

/** What a gateway asks about when it sends the request itself: what follows the prefix, without the gate's own parameter. */
function targetOf(url: string): string {
  const [path = '', query = ''] = url.slice(prefix.length).split(/\?(.*)/s);
  const kept = query.split('&').filter((pair) => pair !== '' && !/^refuse=/.test(pair));
  return `${path === '' ? '/' : path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`;
}

/** nginx knows only 401 and 403 from an auth_request, and keeps its connection only if the body is empty and says so. */
function refuseEmpty(reply: FastifyReply, status: number): FastifyReply {
  return reply.code(403).header('x-headgate-status', String(status)).header('cache-control', 'no-store').header('content-length', '0').send();
}

const missingKey = (part: string, rule: string): Problem => ({
  type: 'about:blank',
  title: 'No key',
  status: 403,
  detail: `This request has no ${part}, which the rule ${JSON.stringify(rule)} counts by.`,
});

/** Answers gateways: 204, or why not. Any method and body; bodies are not read. */
export function gateRoutes(app: FastifyInstance, service: Service): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { headers, method, url } = request;
    const answer = await gate(service, { socketAddress: request.socket.remoteAddress, headers, method, target: targetOf(url) });
    const empty = /[?&]refuse=403(&|$)/.test(url);
    if ('missing' in answer) {
      return empty ? refuseEmpty(reply, 403) : sendProblem(reply, missingKey(answer.missing, answer.rule));
    }
    reply.headers(rateLimitFields(answer.answers));
    if (answer.pass) return reply.code(204).send();
    const problem = problemOf(answer.answers.map(({ decision }) => decision));
    if (problem === undefined) return reply.code(204).send();
    return empty ? refuseEmpty(reply, problem.status) : sendProblem(reply, problem);
  }

  const methods = METHODS.filter((method) => method !== 'CONNECT');
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  for (const url of [prefix, `${prefix}/*`]) app.route({ method: methods, url, handler: handle });
}
