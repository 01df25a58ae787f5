import { trustProxies, trustsPeer, type Trust } from 'headgate/http';
import type { RuleSet, ServiceRule } from './compile.js';
import { everyRule, holds, type Customer, type Ending } from './customer.js';
import type { Exemption } from './exceptions.js';

/** Addresses that are exempt until the same time. */
interface Addresses extends Ending {
  readonly addresses: Trust;
}

interface RuleExemptions {
  readonly keys: Map<string, Ending>;
  readonly addresses: Addresses[];
}

export type ExemptionsByRule = ReadonlyMap<string, RuleExemptions>;

export function exemptionsByRule(exemptions: readonly Exemption[]): ExemptionsByRule {
  const byRule = new Map<string, RuleExemptions>();
  const cidrs = new Map<string, { rule: string; until: number | null; subjects: string[] }>();
  const ofRule = (rule: string): RuleExemptions => {
    const known = byRule.get(rule) ?? { keys: new Map(), addresses: [] };
    byRule.set(rule, known);
    return known;
  };
  for (const { rule, kind, subject, until } of exemptions) {
    if (kind === 'key') ofRule(rule).keys.set(subject, { until });
    else {
      const name = `${until} ${rule}`;
      const together = cidrs.get(name) ?? { rule, until, subjects: [] };
      together.subjects.push(subject);
      cidrs.set(name, together);
    }
  }
  for (const { rule, until, subjects } of cidrs.values()) ofRule(rule).addresses.push({ until, addresses: trustProxies(subjects) });
  return byRule;
}

/** The first and last address of an IPv6 key, which is the /64 of a client; else the text itself. */
function addressesOf(key: string): readonly string[] {
  const [, network] = /^([0-9a-f:]*)::\/64$/.exec(key) ?? [];
  if (network === undefined) return [key];
  const groups = network === '' ? [] : network.split(':');
  const zeros = Array.from({ length: Math.max(0, 4 - groups.length) }, () => '0');
  return [`${network}::`, [...groups, ...zeros, 'ffff', 'ffff', 'ffff', 'ffff'].join(':')];
}

/** Whether a rule's keys are addresses: of others a client may choose the text, and could choose an address that is exempt. */
const countsAddresses = ({ key }: ServiceRule): boolean => key.length === 0 || (key.length === 1 && key[0]?.from === 'ip');

function addressesFor({ rules }: RuleSet, { rule, key, address }: Customer): readonly string[] {
  if (address !== undefined) return [address];
  const of = rules.get(rule);
  return of !== undefined && countsAddresses(of) ? addressesOf(key) : [];
}

/** Whether a rule does not hold for a customer. */
export function isExempt(set: RuleSet, exempted: ExemptionsByRule, { customer, now }: { customer: Customer; now: number }): boolean {
  const { rule, key } = customer;
  for (const name of [rule, everyRule]) {
    const of = exempted.get(name);
    if (of === undefined) continue;
    const byKey = of.keys.get(key);
    if (byKey !== undefined && holds(byKey, now)) return true;
    if (of.addresses.length === 0) continue;
    const found = addressesFor(set, customer);
    const includes = ({ addresses, ...ending }: Addresses): boolean =>
      holds(ending, now) && found.length > 0 && found.every((address) => trustsPeer(addresses, address));
    if (of.addresses.some(includes)) return true;
  }
  return false;
}
