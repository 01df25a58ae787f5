// Tokens of a language model: checked with what an answer may cost at most, and settled with what it did cost.
import express from 'express';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { llmTokens: { limit: tokenBucket({ capacity: 1000, refill: '60/m' }) } } });

// Of this example; yours calls a model, and reads `usage` of its answer.
const complete = async (prompt) => ({ text: prompt.toUpperCase(), tokens: prompt.split(/\s+/).length });

const longestAnswer = 400;
const atMost = (request) => Math.ceil(String(request.body.prompt).length / 4) + longestAnswer;
const budget = rateLimit({
  limiter,
  rule: 'llmTokens',
  key: (request) => request.get('x-api-key') ?? 'anonymous',
  cost: atMost,
  quotaUnits: { llmTokens: 'tokens' },
});

const app = express();
app.post('/complete', express.json(), budget, async (request, response) => {
  const { text, tokens } = await complete(String(request.body.prompt));
  await budget.of(request).settle('llmTokens', tokens);
  response.json({ text, tokens });
});

const server = app.listen(port, '127.0.0.1', () => tell(server));
