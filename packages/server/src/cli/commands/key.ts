import type { clientSettings, ruleSetting } from '../../settings/client.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { lookOf, out, outJson } from '../out.js';
import { inPath, query, withService } from '../service.js';
import { ServiceError } from '../service-error.js';
import { table, type Cell } from '../table.js';
import { showWait } from '../time.js';

interface State {
  readonly rule: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly wouldAllow: boolean;
  readonly reason: string;
  readonly shadow: boolean;
  readonly degraded: boolean;
}

interface States {
  readonly rules: number;
  readonly states: readonly State[];
}

const path = (key: string): string => `/admin/v1/keys/${inPath(key)}`;

function stateCell({ wouldAllow, reason, shadow, degraded }: State): Cell {
  const text = [
    wouldAllow ? 'passes' : reason,
    ...(shadow ? ['only observing'] : []),
    ...(degraded ? ['told without the store'] : []),
  ].join(', ');
  return { text, color: wouldAllow ? 'green' : shadow ? 'yellow' : 'red' };
}

const amount = (value: number | null): string => (value === null ? 'unlimited' : String(value));

const row = (state: State): (string | Cell)[] => [
  state.rule,
  stateCell(state),
  amount(state.remaining),
  amount(state.limit),
  state.wouldAllow ? '' : showWait(state.retryAfterMs),
  state.resetAfterMs > 0 ? showWait(state.resetAfterMs) : '',
];

const columns = [
  { title: 'RULE' },
  { title: 'STATE' },
  { title: 'LEFT', right: true },
  { title: 'OF', right: true },
  { title: 'PASSES IN', right: true },
  { title: 'ALL BACK IN', right: true },
] as const;

type Showing = typeof clientSettings & {
  readonly rule: typeof ruleSetting;
  readonly all: Setting<boolean>;
  readonly json: Setting<boolean>;
};

export const show: Work<Showing> = ({ operands: [key = ''], values }) =>
  withService(values, async ({ url, ask }) => {
    const { rule, all, json } = values;
    const answer = (await ask('GET', path(key) + query({ rule, all: all ? 'true' : undefined }))) as States;
    if (rule !== undefined && answer.rules === 0)
      throw new ServiceError(exitCodes.rejected, `${url}: no rule ${JSON.stringify(rule)} is in force; see headgate rules list`);
    if (json) outJson({ key, ...answer });
    else if (answer.states.length > 0) out(table(columns, answer.states.map(row), lookOf()));
    else out(`nothing is used and nothing refused under ${answer.rules} rules; --all shows each`);
  });

type Acting = typeof clientSettings;

/** An act on the counter of a key under a rule, and what is told of it. */
const acting =
  (act: string, did: string): Work<Acting> =>
  ({ operands: [rule = '', key = ''], values }) =>
    withService(values, async ({ ask }) => {
      await ask('POST', `${path(key)}/${act}`, { rule });
      out(`rule ${JSON.stringify(rule)}: ${did}`);
    });

export const reset = acting('reset', 'this key begins anew; a ban stays');
export const unban = acting('unban', 'this key is not banned');

export const ban: Work<Acting & { readonly for: Setting<number> }> = ({ operands: [rule = '', key = ''], values }) =>
  withService(values, async ({ ask }) => {
    await ask('POST', `${path(key)}/ban`, { rule, forMs: values.for });
    out(`rule ${JSON.stringify(rule)}: this key is banned for ${showWait(values.for)}; headgate key unban lifts it`);
  });
