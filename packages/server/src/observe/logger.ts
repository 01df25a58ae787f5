import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Logs as JSON lines on standard error; headers and bodies, which hold keys and secrets, are never in them. */
export function createLogger(level: string): Logger {
  return pino({ name: 'headgate', level, redact: ['req.headers', 'secret', 'url'] }, pino.destination(2));
}
