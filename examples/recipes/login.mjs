// Login: waits that grow with each failure in a row on an account, and a limit for each address. A success forgets the failures.
import express from 'express';
import { consecutiveFailures, createLimiter, fixedWindow } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({
  ...counting,
  rules: {
    login: { limit: consecutiveFailures({ free: 3, firstWait: '30s', longestWait: '1h' }), whenUnavailable: 'refuse' },
    loginAddress: { limit: fixedWindow({ limit: 100, window: '1m' }) },
  },
});

// Of this example; yours are hashed, and compared for accounts that do not exist just the same.
const passwords = new Map([['ada', 'lovelace']]);

// In one form, else each spelling of a name has failures of its own.
const accountOf = (request) =>
  String(request.body?.account ?? '')
    .trim()
    .toLowerCase();
const checks = (request) => [{ rule: 'login', key: accountOf(request), countWhen: 'failure' }, { rule: 'loginAddress' }];

const app = express();
app.post('/login', express.json(), rateLimit({ limiter, checks }), (request, response) => {
  const isRight = passwords.get(accountOf(request)) === request.body.password;
  response.status(isRight ? 200 : 401).json({ in: isRight });
});

const server = app.listen(port, '127.0.0.1', () => tell(server));
