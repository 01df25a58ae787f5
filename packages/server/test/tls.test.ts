import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { authority, certificateFiles, type Authority, type Issued } from './support/certificates.js';
import { slowCheck } from './support/raw.js';
import { ask, later, start, temporary } from './support/service.js';

let [root, clients, strangers] = [] as unknown as [Authority, Authority, Authority];
let [one, two, client] = [] as unknown as [Issued, Issued, Issued];
beforeAll(() => {
  [root, clients, strangers] = [authority('Servers'), authority('Clients'), authority('Strangers')];
  [one, two, client] = [root.issue('one'), root.issue('two'), clients.issue('a client')];
});

interface Secure {
  readonly agent?: Agent | false;
  readonly by?: Issued;
}

/** One request over TLS: its status, and whose certificate the server showed. */
function askSecurely(url: string, { agent = false, by }: Secure = {}): Promise<{ status: number; subject: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, ca: root.cert, ...by }, (response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate() as PeerCertificate;
      response.resume().once('end', () => resolve({ status: response.statusCode ?? 0, subject: String(subject.CN) }));
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end();
  });
}

const clientCa = (...by: Authority[]): string => {
  const file = join(temporary(), 'clients.pem');
  writeFileSync(file, by.map(({ cert }) => cert).join(''));
  return file;
};

const soon = { timeout: 5000, interval: 20 };

describe('a server with a certificate', () => {
  it('answers over TLS 1.2 and 1.3, not over older ones', async () => {
    const { url } = await start({ flags: certificateFiles(one).flags });
    expect(url).toMatch(/^https:/);
    expect(await askSecurely(`${url}/healthz`)).toEqual({ status: 200, subject: 'one' });
    const { port } = new URL(url);
    const handshake = async (version: 'TLSv1.1' | 'TLSv1.2'): Promise<unknown> => {
      const options = { ca: root.cert, minVersion: 'TLSv1', maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      const socket = connect({ port: Number(port), host: '127.0.0.1', ...options });
      later(() => socket.destroy());
      await once(socket, 'secureConnect');
      return socket.getProtocol();
    };
    expect(await handshake('TLSv1.2')).toBe('TLSv1.2');
    await expect(handshake('TLSv1.1')).rejects.toThrow();
  });

  it('shows the new one to new connections when its files change under load, without a request that fails', async () => {
    const files = certificateFiles(one);
    const { url } = await start({ flags: files.flags });
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    later(() => agent.destroy());
    const answers: { status: number; subject: string }[] = [];
    const failures: unknown[] = [];
    let loading = true;
    // Connections that are kept, and new ones all the time.
    const clientsUnderLoad = [agent, agent, false as const, false as const].map(async (by) => {
      while (loading)
        await askSecurely(`${url}/healthz`, { agent: by }).then(
          (answer) => answers.push(answer),
          (error) => failures.push(error),
        );
    });
    for (const [next, name] of [
      [two, 'two'],
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      await sleep(200);
      files.write({ cert: next.cert });
      await sleep(100);
      files.write({ key: next.key });
      await expect.poll(async () => (await askSecurely(`${url}/healthz`)).subject, soon).toBe(name);
    }
    loading = false;
    await Promise.all(clientsUnderLoad);
    expect(failures).toEqual([]);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.length).toBeGreaterThan(50);
    expect((await askSecurely(`${url}/healthz`)).subject).toBe('two');
  });

  it('answers what is in flight when it stops, however long ago the connection was made', async () => {
    const { app, url } = await start({ flags: certificateFiles(one).flags });
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', ca: root.cert });
    later(() => socket.destroy());
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(socket, 'secureConnect');
    const { head, body } = slowCheck();
    socket.write(head);
    const closed = app.close();
    await sleep(1300);
    socket.write(body);
    await closed;
    expect(said).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*connection: close\r\n/i);
  });

  it('tells when it expires, and how often it was read', async () => {
    const files = certificateFiles(one);
    const { app } = await start({ flags: [...files.flags, '--ops-port', '0'] });
    const metrics = async () => (await ask(`${app.opsUrl}/metrics`)).text;
    const days = (Number(/headgate_tls_certificate_expires_seconds (\d+)/.exec(await metrics())?.[1]) - Date.now() / 1000) / 86_400;
    expect(Math.round(days)).toBe(20);
    files.write({ key: two.key });
    await expect.poll(metrics, soon).toContain('headgate_tls_reload_total{result="refused"} 1');
    files.write(two);
    await expect.poll(metrics, soon).toContain('headgate_tls_reload_total{result="ok"} 2');
  });

  it('does not start with files that do not fit, or with half of them', async () => {
    const files = certificateFiles({ ...one, key: two.key });
    await expect(start({ flags: files.flags })).rejects.toThrow(/the key is of another certificate/);
    await expect(start({ flags: ['--tls-cert', files.cert] })).rejects.toThrow(/^--tls-key: which one\?/);
    await expect(start({ flags: ['--tls-key', files.key] })).rejects.toThrow(/^--tls-cert: which one\?/);
    await expect(start({ flags: [...files.flags, '--socket', '/x.sock'] })).rejects.toThrow(/^--socket: no TLS/);
  });
});

describe('a server that asks clients for a certificate', () => {
  it('serves those of its authority only, and probes on the port for operators without one', async () => {
    const { url, app } = await start({ flags: [...certificateFiles(one).flags, '--tls-client-ca', clientCa(clients), '--ops-port', '0'] });
    expect((await askSecurely(`${url}/healthz`, { by: client })).status).toBe(200);
    await expect(askSecurely(`${url}/healthz`)).rejects.toThrow();
    await expect(askSecurely(`${url}/healthz`, { by: strangers.issue('a stranger') })).rejects.toThrow();
    expect(app.opsUrl).toMatch(/^http:/);
    for (const path of ['/healthz', '/readyz', '/metrics']) expect((await ask(app.opsUrl + path)).status, path).toBe(200);
    for (const path of ['/v1/gate', '/admin/v1/traffic']) expect((await ask(app.opsUrl + path)).status, path).toBe(404);
    expect((await askSecurely(`${url}/metrics`, { by: client })).status).not.toBe(200);
  });

  it('no longer serves those of an authority that is taken out, even if they were served before', async () => {
    const ca = clientCa(clients, strangers);
    const { url } = await start({ flags: [...certificateFiles(one).flags, '--tls-client-ca', ca] });
    const { port } = new URL(url);
    const stranger = strangers.issue('a stranger');
    let session: Buffer | undefined;
    const served = async (): Promise<string> => {
      const socket = connect({ port: Number(port), host: '127.0.0.1', ca: root.cert, ...stranger, session });
      later(() => socket.destroy());
      socket.on('session', (next: Buffer) => (session = next));
      let [said, reused] = ['', false];
      socket.on('secureConnect', () => (reused = socket.isSessionReused()));
      socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
      socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
      return new Promise((resolve) => {
        socket.on('error', () => resolve('refused'));
        socket.on('close', () => resolve(said === '' ? 'refused' : `${said.slice(9, 12)} ${reused ? 'resumed' : 'anew'}`));
      });
    };
    expect(await served()).toBe('200 anew');
    expect(await served()).toBe('200 resumed');
    writeFileSync(ca, clients.cert);
    await expect.poll(served, soon).toBe('refused');
  });
});
