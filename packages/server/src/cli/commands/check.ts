import type { Setting } from '../../settings/setting.js';
import type { clientSettings, costSetting, planSetting } from '../../settings/client.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { lookOf, out, outJson, painted, visible } from '../out.js';
import { withService } from '../service.js';
import { showWait } from '../time.js';

type Settings = typeof clientSettings & {
  readonly cost: typeof costSetting;
  readonly plan: typeof planSetting;
  readonly peek: Setting<boolean>;
  readonly json: Setting<boolean>;
};

interface Answer {
  readonly allowed: boolean;
  readonly decision: {
    readonly rule: string;
    readonly key: string;
    readonly limit: number | null;
    readonly remaining: number | null;
    readonly retryAfterMs: number | null;
    readonly resetAfterMs: number;
    readonly reason: string;
    readonly degraded: boolean;
    readonly shadow: boolean;
    readonly wouldAllow: boolean;
  };
}

function told({ allowed, decision }: Answer): string {
  const { rule, key, limit, remaining, retryAfterMs, resetAfterMs, reason, degraded, shadow, wouldAllow } = decision;
  const notes = [
    limit === null ? 'unlimited' : `${remaining ?? 0} of ${limit} left`,
    ...(allowed ? [] : [reason, retryAfterMs === null ? 'can never pass' : `can pass in ${showWait(retryAfterMs)}`]),
    ...(resetAfterMs > 0 ? [`all back in ${showWait(resetAfterMs)}`] : []),
    ...(shadow ? [`only observing, would be ${wouldAllow ? 'allowed' : 'refused'}`] : []),
    ...(degraded ? ['decided without the shared store'] : []),
  ];
  const verdict = painted(allowed ? 'allowed' : 'refused', allowed ? 'green' : 'red', lookOf());
  return `${verdict}  ${visible(`${JSON.stringify(rule)} ${JSON.stringify(key)}: ${notes.join(', ')}`)}`;
}

/** Asks once; ends with 0 if allowed and 1 if refused. */
export const check: Work<Settings> = ({ operands: [rule, key], values }) =>
  withService(values, async ({ ask }) => {
    const { cost, plan, peek, json } = values;
    const answer = (await ask('POST', peek ? '/v1/peek' : '/v1/check', { rule, key, cost, plan })) as Answer;
    if (json) outJson(answer);
    else out(told(answer));
    return answer.allowed ? exitCodes.ok : exitCodes.refused;
  });
