import { METHODS } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, rateLimitFields, trustsPeer } from 'headgate/http';
import { z } from 'zod';
import { crowdMend, mostTogether } from '../../rules/match-crowd.js';
import { gate } from '../../usecases/gate.js';
import type { Service } from '../../usecases/service.js';
import { gatePath, hostsAsked, linesAsked } from './asked.js';
import { limitFields } from './bodies.js';
import type { Endpoint } from './endpoint.js';
import { plainProblem, sendProblem } from './errors.js';
import { deciding } from './watch.js';

/** nginx knows only 401 and 403 from an auth_request, and keeps its connection only if the body is empty and says so. */
function refuseEmpty(reply: FastifyReply, status: number): FastifyReply {
  return reply.code(403).header('x-headgate-status', String(status)).header('content-length', '0').send();
}

const query = z.object({
  refuse: z
    .string()
    .optional()
    .describe('`403`: refuse with an empty 403, the status in `X-Headgate-Status`; for nginx, which knows no 429 of a subrequest.'),
});

/** All that HTTP knows, but the one that asks for a tunnel. */
export const gateMethods = METHODS.filter((method) => method !== 'CONNECT');

/** Answers gateways: 204, or why not. Any method and body. */
export function gateEndpoints(service: Service): Endpoint[] {
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
    if ('matched' in answer) {
      const detail = `${answer.matched} rules match this request, and at most ${mostTogether} are decided together; nothing is wrong with the request. Whoever runs this service has to mend its rules: ${crowdMend}`;
      return asEmpty ? refuseEmpty(reply, 503) : sendProblem(reply, plainProblem(503, { detail }));
    }
    reply.headers(rateLimitFields(answer.answers));
    const problem = answer.pass ? undefined : problemOf(answer.answers.map(({ decision }) => decision));
    if (problem === undefined) return reply.code(204).send();
    return asEmpty ? refuseEmpty(reply, problem.status) : sendProblem(reply, problem);
  }

  const common = {
    methods: gateMethods,
    tag: 'Gateways',
    query,
    status: 204,
    headers: limitFields,
    problems: [400, 403, 429, 500, 503],
    ignoresBody: true,
    handle,
  } as const satisfies Partial<Endpoint>;
  return [
    {
      ...common,
      path: gatePath,
      summary: 'May this request pass? All matching rules, as a group',
      description:
        'Any method; a body is not read. The request asked about is told by `X-Original-Method`, `-URI` and `-Host`, of trusted proxies by ' +
        '`X-Forwarded-Method`, `-Uri` and `-Host`. Refusals have `Retry-After`.',
    },
    {
      ...common,
      path: `${gatePath}/{path...}`,
      params: z.object({
        path: z
          .string()
          .describe('All that follows.')
          .meta({ examples: ['search'] }),
      }),
      summary: 'The same, about the rest of this path',
    },
  ];
}
