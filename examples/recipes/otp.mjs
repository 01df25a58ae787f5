// One-time passwords: how often a code is sent to a number, and how often one is tried. A code that is sent anew gives no new tries.
import { randomInt } from 'node:crypto';
import express from 'express';
import { consecutiveFailures, createLimiter, fixedWindow, slidingLog } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({
  ...counting,
  rules: {
    otpSend: { limit: slidingLog({ limit: 3, window: '10m' }), whenUnavailable: 'refuse' },
    // What an attacker can make you pay for messages in a day.
    otpSendAll: { limit: fixedWindow({ limit: 50_000, window: '1d' }), whenUnavailable: 'refuse' },
    otpTry: { limit: consecutiveFailures({ limit: 15, free: 4, firstWait: '30s', forget: '1d' }), whenUnavailable: 'refuse' },
  },
});

const codes = new Map();
const send = (number, code) => void codes.set(number, code);
const numberOf = (request) => String(request.body?.number ?? '').replace(/[^+\d]/g, '');

const app = express();
app.use(express.json());
const sends = (request) => [
  { rule: 'otpSend', key: numberOf(request) },
  { rule: 'otpSendAll', key: '*' },
];
app.post('/send', rateLimit({ limiter, checks: sends }), (request, response) => {
  send(numberOf(request), String(randomInt(1e6)).padStart(6, '0'));
  response.status(202).end();
});
app.post('/try', rateLimit({ limiter, rule: 'otpTry', key: numberOf, countWhen: 'failure' }), (request, response) => {
  response.status(codes.get(numberOf(request)) === request.body.code ? 200 : 401).end();
});

const server = app.listen(port, '127.0.0.1', () => tell(server));
