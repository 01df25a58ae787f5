import { once } from 'node:events';
import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { SettingError } from './redis-address.js';

/** What a socket's address holds on every system; Node would cut a longer one without a word. */
const longestPath = 103;

/** Owner and group: a gateway's user is put into the group. */
export const socketMode = 0o660;

/** Whether a process listens there. */
async function isLive(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return false;
    throw new Error(`--socket ${path}: cannot be looked at (${code ?? 'unknown'})`, { cause: error });
  } finally {
    socket.destroy();
  }
}

/**
 * Makes room for a Unix socket: removes the file that a process left which did not end in order.
 *
 * @throws SettingError if the path cannot be one; Error if another process listens there
 */
export async function clearSocketPath(path: string): Promise<void> {
  if (Buffer.byteLength(path) > longestPath)
    throw new SettingError(`--socket ${path}: a socket's path has at most ${longestPath} bytes; give a shorter one`);
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new SettingError(`--socket ${path}: there is something else, and it is left alone; give another path`);
  if (await isLive(path)) throw new Error(`--socket ${path}: another process listens there; stop it, or give another path`);
  await unlink(path);
}
