import type { FastifyReply } from 'fastify';
import type { CheckRequest } from 'headgate';
import { rateLimitFields, type Answered } from 'headgate/http';
import { z } from 'zod';
import { check, peek, reserve } from '../../usecases/decide.js';
import type { Service } from '../../usecases/service.js';
import { bodyProblems, decisionAnswer, decisionJson, groupBody, limitFields, singleBody } from './bodies.js';
import { reading, type Endpoint } from './endpoint.js';
import { readBody } from './errors.js';
import { deciding } from './watch.js';

/** A 200 tells of limits, but its own retry is nobody's: `Retry-After` stays in the body. */
function tellLimits(reply: FastifyReply, answers: readonly Answered[]): void {
  const fields = rateLimitFields(answers);
  if ('Retry-After' in fields) delete fields['Retry-After'];
  reply.headers(fields).header('cache-control', 'no-store');
}

/** Exactly the fields that were sent: an absent option is not one that is undefined. */
const checkOf = ({ rule, key, cost, plan }: z.infer<typeof singleBody>): CheckRequest => ({
  rule,
  key,
  ...(cost === undefined ? undefined : { cost }),
  ...(plan === undefined ? undefined : { plan }),
});

function readChecks(body: unknown): CheckRequest[] {
  const several = typeof body === 'object' && body !== null && 'checks' in body;
  return several ? readBody(groupBody, body).checks.map(checkOf) : [checkOf(readBody(singleBody, body))];
}

const oneAnswer = z.object({ allowed: z.boolean(), decision: decisionAnswer });
const groupAnswer = z.object({
  allowed: z.boolean().describe('Whether all passed; if not, nothing was taken.'),
  decision: decisionAnswer.describe('The binding one: of those that refuse, the longest wait; else the fewest remaining.'),
  decisions: z.array(decisionAnswer).describe('One for each check, in the order asked.'),
});
const example = { rule: 'search', key: 'alice', cost: 3 };

const common = {
  methods: ['POST'],
  tag: 'Decisions',
  status: 200,
  headers: limitFields,
  problems: [...bodyProblems, 404],
} as const satisfies Partial<Endpoint>;

/** The library's verbs that decide. A refusal is an answer, and so a 200. */
export const checkEndpoints = (service: Service): Endpoint[] => [
  {
    ...common,
    path: '/v1/check',
    summary: 'Decides and takes, one check or several as a group: all or nothing',
    body: z.union([singleBody, groupBody]),
    example,
    answer: groupAnswer,
    async handle(request, reply) {
      const checks = readChecks(request.body);
      const decide = () => check(service, checks);
      const { allowed, binding, decisions, answers } = await deciding(request, decide, (made) => made.answers);
      tellLimits(reply, answers);
      // Each decision is written out once, though the binding one is told twice.
      const texts = decisions.map(({ decision, id }) => JSON.stringify(decisionJson(decision, id)));
      reply.header('content-type', 'application/json; charset=utf-8');
      return `{"allowed":${allowed},"decision":${texts[decisions.indexOf(binding)]},"decisions":[${texts.join(',')}]}`;
    },
  },
  {
    ...common,
    path: '/v1/peek',
    summary: 'What a check would say now; takes nothing',
    ...reading(singleBody, async (body, reply) => {
      const answer = await peek(service, checkOf(body));
      tellLimits(reply, [answer]);
      return { allowed: answer.decision.allowed, decision: decisionJson(answer.decision) };
    }),
    example,
    answer: oneAnswer,
  },
  {
    ...common,
    path: '/v1/reserve',
    summary: 'Takes units whose true cost is known only later: then settle or cancel by `decision.id`. Never settled, they stay taken',
    ...reading(singleBody, async (body, reply, request) => {
      const decide = () => reserve(service, checkOf(body));
      const { decision, id, answer } = await deciding(request, decide, (made) => [made.answer]);
      tellLimits(reply, [answer]);
      return { allowed: decision.allowed, decision: decisionJson(decision, id) };
    }),
    example: { rule: 'tokens', key: 'alice', cost: 4000 },
    answer: oneAnswer,
  },
];
