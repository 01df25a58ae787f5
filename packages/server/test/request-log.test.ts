import { describe, expect, it } from 'vitest';
import { createLogger } from '../src/observe/logger.js';
import { RequestLog } from '../src/edge/http/request-log.js';

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

function logged() {
  const lines: Record<string, unknown>[] = [];
  let made = 0;
  const logger = createLogger('trace', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const log = new RequestLog(() => {
    made += 1;
    return logger.child({ requestId: 'r1' });
  });
  return { log, lines, made: () => made };
}

describe("a request's log", () => {
  it('is made by the first line, once, and writes each under its level with what it is about', () => {
    const { log, lines, made } = logged();
    expect(made()).toBe(0);
    for (const level of levels) log[level]({ about: level }, 'said');
    log.silent('not said');
    expect(made()).toBe(1);
    expect(lines.map(({ level, about, requestId, msg }) => ({ level, about, requestId, msg }))).toEqual(
      levels.map((about, at) => ({ level: 10 * (at + 1), about, requestId: 'r1', msg: 'said' })),
    );
  });

  it('has a level and children as its own', () => {
    const { log, lines } = logged();
    expect(log.level).toBe('trace');
    log.child({ part: 'p' }).info('said');
    log.level = 'error';
    log.info('not said');
    expect(lines).toMatchObject([{ requestId: 'r1', part: 'p', msg: 'said' }]);
    expect(lines).toHaveLength(1);
  });
});
