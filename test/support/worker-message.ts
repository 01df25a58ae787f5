import type { ChildProcess } from 'node:child_process';

/** The next message of a worker process; rejects if it ends without one. */
export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    // Its end may be known before the last that it said is read.
    const ended = (): void => reject(new Error(`a worker ended with ${child.signalCode ?? child.exitCode}`));
    child.once('exit', () => (child.connected ? child.once('disconnect', ended) : ended()));
  });
}
