import { ConfigError, rejectUnknownOptions, show, StoreError } from '../../errors.js';
import { Batch, type Verdict } from '../batch.js';
import type { Group, Store } from '../store.js';
import { transport, type Transport } from './transport.js';
import { decodeAnswers, decodeDecision, encodeOperations, wasNotDone, type Operation } from './wire.js';

/** Options of `remoteStore`. */
export interface RemoteStoreOptions {
  /** Of a Headgate service: `https://headgate.internal:8080`, or with a path before its own. */
  readonly url: string | URL;
  /** What the service knows as `HEADGATE_STORE_TOKEN`, at least 16 characters: who has it can do anything with the counters. */
  readonly token: string;
}

/** Calls under way that are no decisions: beyond it a service that does not answer would fill the memory. */
const mostCalls = 10_000;

const bad = (message: string): ConfigError => new ConfigError('HEADGATE_BAD_OPTION', `remoteStore.${message}`);

function readUrl(url: unknown): URL {
  const text = url instanceof URL ? url.href : url;
  if (typeof text !== 'string' || !URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw bad(
      `url: expected the address of a service such as "https://headgate.internal:8080"; got ${typeof text === 'string' ? 'other text (not shown)' : show(url)}`,
    );
  const at = new URL(text);
  if (at.username !== '' || at.password !== '' || at.search !== '' || at.hash !== '')
    throw bad('url: expected no password, query or fragment; the token goes into its own option (the value is not shown)');
  at.pathname = `${at.pathname.replace(/\/+$/, '')}/v1/store`;
  return at;
}

function readToken(token: unknown): string {
  if (typeof token === 'string' && /^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw bad('token: expected at least 16 printable characters without spaces (the value is not shown)');
}

const closedError = (): StoreError => new StoreError('the remote store is closed', { code: 'HEADGATE_CLOSED' });

/** @throws ConfigError */
export function createRemoteStore(options: RemoteStoreOptions): Store {
  rejectUnknownOptions('remoteStore', options, ['url', 'token']);
  return storeOver(transport({ url: readUrl(options.url), token: readToken(options.token) }));
}

function storeOver({ post, close }: Transport): Store {
  let closed = false;
  let calls = 0;

  async function run(groups: readonly Group[]): Promise<readonly Verdict[]> {
    const body = encodeOperations(groups.map((group) => ({ op: 'decide', ...group })));
    const answers = decodeAnswers(await post(body), groups.length);
    return answers.map((answer) => (answer instanceof StoreError ? answer : decodeDecision(answer)));
  }

  const batch = new Batch({
    name: 'the service',
    connection: { state: () => 'ready', onceSettled: (callback) => callback() },
    run,
    wasNotDone,
  });

  async function ask<T>(operation: Operation, isAnswer: (answer: unknown) => answer is T): Promise<T> {
    if (closed) throw closedError();
    if (calls >= mostCalls) throw new StoreError(`over ${mostCalls} calls wait for the service`);
    calls += 1;
    try {
      const [answer] = decodeAnswers(await post(encodeOperations([operation])), 1);
      if (answer instanceof StoreError) throw answer;
      if (!isAnswer(answer)) throw new StoreError(`${operation.op}: the service answered with something else`);
      return answer;
    } finally {
      calls -= 1;
    }
  }

  const isNumber = (answer: unknown): answer is number => typeof answer === 'number';
  const isBoolean = (answer: unknown): answer is boolean => typeof answer === 'boolean';
  const isCounts = (answer: unknown): answer is number[] => Array.isArray(answer) && answer.every(isNumber);
  const isMembers = (answer: unknown): answer is { members: number; strangers: number } =>
    typeof answer === 'object' && answer !== null && 'members' in answer && 'strangers' in answer;
  const tell = async (operation: Operation): Promise<void> => {
    await ask(operation, (_): _ is unknown => true);
  };

  return {
    decide: (group, ticket) => (closed ? Promise.reject(closedError()) : batch.decide(group, ticket)),
    ask: (group, call) => (closed ? call.failed(closedError()) : batch.ask(group, call)),
    giveBack: (item) => ask({ op: 'giveBack', ...item }, isNumber),
    claim: (receipt, onceId) => ask({ op: 'claim', receipt, onceId }, isBoolean),
    extend: (receipt) => ask({ op: 'extend', receipt }, isBoolean),
    reset: (target) => tell({ op: 'reset', ...target }),
    ban: (target, us) => tell({ op: 'ban', ...target, us }),
    unban: (target) => tell({ op: 'unban', ...target }),
    beat: (beat) => ask({ op: 'beat', ...beat }, isMembers),
    meet: (meeting) => ask({ op: 'meet', ...meeting }, isCounts),
    ping: () => tell({ op: 'ping' }),
    async close() {
      if (closed) return;
      closed = true;
      close();
    },
  };
}
