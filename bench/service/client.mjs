// An HTTP/1.1 client that costs the machine little: requests are rendered beforehand, and of answers only the end is looked for.
import { once } from 'node:events';
import { connect } from 'node:net';

/** Bytes of a request; a body is JSON. */
export function render({ method, path, headers = {}, body }) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const all = {
    host: 'localhost',
    ...headers,
    ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`), '', text ?? ''];
  return Buffer.from(lines.join('\r\n'));
}

/** Where an answer ends, or 0 if not all of it is there. */
function endOf(bytes) {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return 0;
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.latin1Slice(0, head))?.[1] ?? 0;
  const end = head + 4 + Number(length);
  return bytes.length >= end ? end : 0;
}

/**
 * Keeps this process from sleeping until it ends: else each answer of a server that is slower than its client wakes the client, which the
 * machine charges to who answers (a quarter of all its CPU, on a virtual machine), while a quick server never waits for it.
 */
export function stayAwake() {
  setImmediate(stayAwake);
}

/** One connection that asks one request at a time; `ask` resolves with the answer's bytes. */
export async function openConnection(port) {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  let [bytes, waiting] = [Buffer.alloc(0), undefined];
  socket.on('data', (chunk) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const end = endOf(bytes);
    if (end === 0) return;
    const answer = bytes.subarray(0, end);
    bytes = bytes.subarray(end);
    waiting?.resolve(answer);
  });
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')));
  socket.on('error', (error) => waiting?.reject(error));
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** Each connection asks again as soon as it is answered, for `ms`, or until `most` requests were sent. */
export async function drive({ connections, requests, status, ms, most = Infinity }) {
  const latencies = [];
  let [next, wrong] = [0, 0];
  const expected = `HTTP/1.1 ${status}`;
  const start = performance.now();
  const until = start + ms;
  const loop = async ({ ask }) => {
    let asked = performance.now();
    while (asked < until && next < most) {
      const answer = await ask(requests[next++ % requests.length]);
      const answered = performance.now();
      if (answer.latin1Slice(0, expected.length) !== expected) wrong += 1;
      latencies.push(answered - asked);
      asked = answered;
    }
  };
  await Promise.all(connections.map(loop));
  return { latencies, wrong, seconds: (performance.now() - start) / 1000 };
}
