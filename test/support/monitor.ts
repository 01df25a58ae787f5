import { connect } from 'node:net';
import { host, rawCommand } from './redis.js';

export interface Monitor {
  /** What Redis executed since the start, one line each, once everything that was sent before this call is in it. */
  flush(): Promise<readonly string[]>;
  /** How many of the lines, flushed, are this command, sent by a client (not from inside a script), heartbeats apart. */
  count(command: string): Promise<number>;
  /** Forgets the lines so far. */
  clear(): Promise<void>;
  stop(): void;
}

/** Collects what `MONITOR` of the Redis on `port` shows; active when this resolves. */
export async function monitor(port: number): Promise<Monitor> {
  const socket = connect(port, host);
  let text = '';
  let lines: string[] = [];
  let markers = 0;
  const waiting = new Map<string, () => void>();
  const own = `headgate-monitor-${process.pid}-`;

  const take = (line: string): void => {
    const marker = new RegExp(`${own}\\d+`).exec(line)?.[0];
    if (marker === undefined) lines.push(line);
    else waiting.get(marker)?.();
  };
  const active = new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      const complete = text.split('\r\n');
      text = complete.pop() ?? '';
      for (const line of complete) {
        if (line === '+OK') resolve();
        else if (line.startsWith('+')) take(line.slice(1));
      }
    });
  });
  socket.write('MONITOR\r\n');
  await active;
  socket.on('error', () => undefined);

  const flush = async (): Promise<readonly string[]> => {
    const marker = `${own}${++markers}`;
    const seen = new Promise<void>((resolve) => waiting.set(marker, resolve));
    await rawCommand(port, ['ECHO', marker]);
    await seen;
    waiting.delete(marker);
    return lines;
  };
  return {
    flush,
    count: async (command) => {
      // 1700000000.123456 [0 127.0.0.1:1234] "EVALSHA" ...; a script's own calls say [0 lua]
      const wanted = new RegExp(`^\\S+ \\[\\d+ (?!lua\\])[^\\]]*\\] "${command}"`, 'i');
      return (await flush()).filter((line) => wanted.test(line) && !line.includes('{fleet}f:')).length;
    },
    clear: async () => {
      await flush();
      lines = [];
    },
    stop: () => void socket.destroy(),
  };
}
