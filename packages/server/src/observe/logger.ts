import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

interface Told {
  readonly type: string;
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: string | undefined;
  readonly cause?: Told;
}

/** Causes told of: an error may be its own. */
const mostCauses = 5;

/**
 * An error by its name, text, code and causes. Whatever else it carries stays out: errors of Redis clients have the command with its
 * arguments, which are keys, and those of PostgreSQL the values of a row.
 */
function tellError(error: unknown, depth = 0): Told | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  const told = depth < mostCauses ? tellError(cause, depth + 1) : undefined;
  return { type: name, message, ...(code !== undefined && { code }), stack, ...(told && { cause: told }) };
}

/** What is said of a request: its method alone, as paths and fields hold keys and secrets. Of the answer its status. */
const serializers = {
  err: (error: unknown): unknown => tellError(error),
  error: (error: unknown): unknown => tellError(error),
  req: ({ method }: { method?: string }): unknown => ({ method }),
  res: ({ statusCode }: { statusCode?: number }): unknown => ({ status: statusCode }),
};

/** Logs as JSON lines, by default on standard error; headers, paths and bodies, which hold keys and secrets, are never in them. */
export function createLogger(level: string, to: DestinationStream = pino.destination(2)): Logger {
  return pino({ name: 'headgate', level, serializers, redact: ['secret', 'url'] }, to);
}
