import type { FastifyInstance, FastifyReply } from 'fastify';
import type { CheckRequest } from 'headgate';
import { rateLimitFields, type Answered } from 'headgate/http';
import { check, peek, reserve } from '../../usecases/decide.js';
import type { Service } from '../../usecases/service.js';
import { extend, outcome, refund, release, settle } from '../../usecases/take-back.js';
import { decisionJson, groupBody, idBody, outcomeBody, settleBody, singleBody } from './bodies.js';
import { readBody } from './errors.js';
import { deciding } from './watch.js';

/** A 200 tells of limits, but its own retry is nobody's: `Retry-After` stays in the body. */
function tellLimits(reply: FastifyReply, answers: readonly Answered[]): void {
  const { 'Retry-After': _, ...fields } = rateLimitFields(answers);
  reply.headers(fields).header('cache-control', 'no-store');
}

/** Exactly the fields that were sent: an absent option is not one that is undefined. */
const checkOf = ({
  rule,
  key,
  cost,
  plan,
}: {
  rule: string;
  key: string;
  cost?: number | undefined;
  plan?: string | undefined;
}): CheckRequest => ({
  rule,
  key,
  ...(cost === undefined ? undefined : { cost }),
  ...(plan === undefined ? undefined : { plan }),
});

function readChecks(body: unknown): CheckRequest[] {
  const several = typeof body === 'object' && body !== null && 'checks' in body;
  return several ? readBody(groupBody, body).checks.map(checkOf) : [checkOf(readBody(singleBody, body))];
}

/** The library's verbs over HTTP. */
export function checkRoutes(app: FastifyInstance, service: Service): void {
  app.post('/v1/check', async (request, reply) => {
    const checks = readChecks(request.body);
    const decide = () => check(service, checks);
    const { allowed, binding, decisions, answers } = await deciding(request, decide, (answer) => answer.answers);
    tellLimits(reply, answers);
    return {
      allowed,
      decision: decisionJson(binding.decision, binding.id),
      decisions: decisions.map(({ decision, id }) => decisionJson(decision, id)),
    };
  });

  app.post('/v1/peek', async ({ body }, reply) => {
    const answer = await peek(service, checkOf(readBody(singleBody, body)));
    tellLimits(reply, [answer]);
    return { allowed: answer.decision.allowed, decision: decisionJson(answer.decision) };
  });

  app.post('/v1/reserve', async (request, reply) => {
    const asked = checkOf(readBody(singleBody, request.body));
    const { decision, id, answer } = await deciding(
      request,
      () => reserve(service, asked),
      ({ answer: made }) => [made],
    );
    tellLimits(reply, [answer]);
    return { allowed: decision.allowed, decision: decisionJson(decision, id) };
  });

  app.post('/v1/settle', ({ body }) => {
    const { id, actual } = readBody(settleBody, body);
    return settle(service, id, actual);
  });
  app.post('/v1/cancel', ({ body }) => settle(service, readBody(idBody, body).id, 0));
  app.post('/v1/refund', ({ body }) => refund(service, readBody(idBody, body).id));
  app.post('/v1/outcome', ({ body }) => {
    const told = readBody(outcomeBody, body);
    return outcome(service, told.id, told.outcome);
  });
  app.post('/v1/release', ({ body }) => release(service, readBody(idBody, body).id));
  app.post('/v1/extend', ({ body }) => extend(service, readBody(idBody, body).id));
}
