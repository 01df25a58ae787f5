import { z } from 'zod';
import type { Service } from '../../usecases/service.js';
import { extend, outcome, refund, release, settle } from '../../usecases/take-back.js';
import { bodyProblems, idBody, outcomeBody, settleBody } from './bodies.js';
import { reading, type Endpoint } from './endpoint.js';

const returned = z.number().min(0).describe('Units that came back; of a token bucket also parts of one.');
const settlement = z.object({ returned, charged: z.number().min(0).describe('Units that were charged on top.') });
const example = { id: 'ID' };

const common = {
  methods: ['POST'],
  tag: 'Decisions',
  status: 200,
  problems: [...bodyProblems, 503],
} as const satisfies Partial<Endpoint>;

/** The library's verbs that work on what a decision took. */
export const takeBackEndpoints = (service: Service): Endpoint[] => [
  {
    ...common,
    path: '/v1/settle',
    summary: 'Gives back or charges the difference to the true cost; counts once',
    ...reading(settleBody, ({ id, actual }) => settle(service, id, actual)),
    example: { ...example, actual: 1234 },
    answer: settlement,
  },
  {
    ...common,
    path: '/v1/cancel',
    summary: 'Gives a reservation back; counts once',
    ...reading(idBody, ({ id }) => settle(service, id, 0)),
    example,
    answer: settlement,
  },
  {
    ...common,
    path: '/v1/refund',
    summary: 'Gives back what a decision took; counts once',
    ...reading(idBody, ({ id }) => refund(service, id)),
    example,
    answer: z.object({ returned }),
  },
  {
    ...common,
    path: '/v1/outcome',
    summary: 'Tells what became of an attempt under `consecutiveFailures`',
    ...reading(outcomeBody, ({ id, outcome: became }) => outcome(service, id, became)),
    example: { ...example, outcome: 'success' },
    answer: z.object({ forgotten: z.boolean().describe('Whether the failures are forgotten.') }),
  },
  {
    ...common,
    path: '/v1/release',
    summary: 'Ends a holder of `concurrency`',
    ...reading(idBody, ({ id }) => release(service, id)),
    example,
    answer: z.object({ released: z.boolean() }),
  },
  {
    ...common,
    path: '/v1/extend',
    summary: 'Prolongs a holder of `concurrency` by the time after which it expires',
    ...reading(idBody, ({ id }) => extend(service, id)),
    example,
    answer: z.object({ extended: z.boolean().describe('False: it has expired, and its place may be taken.') }),
  },
];
