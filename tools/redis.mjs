// A redis-server of our own: free port, loopback only, nothing kept on disk; it ends with us.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';

const host = '127.0.0.1';

/** A port that nobody listens on now. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, host, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts it and waits until it accepts connections. */
export async function startRedis() {
  const port = await freePort();
  const args = ['--bind', host, '--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', tmpdir()];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);

  await new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const howTo = 'install Redis 6.2 or newer (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis)';
      reject(cause.code === 'ENOENT' ? new Error(`redis-server is not on PATH: ${howTo}`) : cause);
    });
    child.once('exit', (code) => reject(new Error(`redis-server on port ${port} ended at once (code ${code})`)));
    child.stdout.on('data', (text) => {
      if (text.includes('Ready to accept connections')) resolve();
    });
  });
  return {
    host,
    port,
    stop: () =>
      new Promise((resolve) => {
        process.removeListener('exit', end);
        child.once('exit', resolve);
        end();
      }),
  };
}
