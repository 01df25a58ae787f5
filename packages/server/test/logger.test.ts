import { describe, expect, it } from 'vitest';
import { createLogger } from '../src/observe/logger.js';

/** What is written of these arguments, as it was read. */
function written(about: object): Record<string, unknown> {
  const lines: string[] = [];
  createLogger('trace', { write: (line) => void lines.push(line) }).error(about, 'told');
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

describe('the log', () => {
  it('tells an error by its name, text, code and causes, and nothing that a client hung onto it', () => {
    const command = { name: 'evalsha', args: ['planted-key'] };
    const reply = Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError', command, code: 'OOM' });
    const row = Object.assign(new Error('duplicate key', { cause: reply }), { detail: 'Key (name)=(planted-key) exists' });
    const { err } = written({ err: row });
    expect(err).toMatchObject({ type: 'Error', message: 'duplicate key', cause: { type: 'ReplyError', code: 'OOM' } });
    expect(JSON.stringify(err)).not.toContain('planted');
  });

  it('ends where an error is its own cause', () => {
    const error = new Error('in a circle');
    error.cause = error;
    expect(written({ err: error })['err']).toMatchObject({ cause: { message: 'in a circle' } });
  });

  it('tells of a request no more than its method, and of an answer no more than its status', () => {
    const req = { method: 'GET', url: '/planted?token=planted', headers: { authorization: 'planted' }, ip: 'planted' };
    const line = written({ req, res: { statusCode: 429, headers: 'planted' }, url: 'redis://:planted@h', secret: 'planted' });
    expect(line).toMatchObject({ req: { method: 'GET' }, res: { status: 429 } });
    expect(JSON.stringify(line)).not.toContain('planted');
  });
});
