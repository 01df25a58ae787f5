import type { Database } from '../../../database/open.js';
import type { Traffic } from '../../../observe/traffic.js';
import type { TokensRepository } from '../../../rules/records.js';
import type { Service } from '../../../usecases/service.js';
import { customersRoutes } from './customers.js';
import { keysRoutes } from './keys.js';
import { quotasAdminRoutes } from './quotas.js';
import { recordsRoutes } from './records.js';
import type { AdminOptions } from './register.js';
import { rulesRoutes } from './rules.js';
import type { RecordAct } from './route.js';
import { trafficRoutes } from './traffic.js';

export interface Administered {
  readonly service: Service;
  readonly traffic: Traffic;
  /** Without one, rules are in a file, and what is in a database is not served. */
  readonly database: Database | undefined;
  /** Told of what was done and could not be recorded, without keys. */
  readonly onUnrecorded: (act: string) => void;
}

/** For so long a token that was found is believed without asking again, in milliseconds: one revoked elsewhere holds no longer. */
const believedMs = 5000;
const mostBelieved = 1000;

/** The admin API of a service. */
export function administration({ service, traffic, database, onUnrecorded }: Administered): AdminOptions {
  const record: RecordAct = async (act) => {
    await database?.audit.add(act).catch(() => onUnrecorded(`${act.by}: ${act.what}`));
  };
  const common = [...keysRoutes(service, record), ...quotasAdminRoutes(service, record), ...trafficRoutes(traffic)];
  if (database === undefined) {
    return { routes: common, hasTokens: () => Promise.resolve(false), bearerOf: () => Promise.resolve(undefined) };
  }
  let generation = 0;
  const believed = new Map<string, { readonly until: number; readonly bearer: Awaited<ReturnType<AdminOptions['bearerOf']>> }>();
  const { rules, tokens, audit } = database;
  const forgetting: TokensRepository = {
    ...tokens,
    async revoke(which) {
      const was = await tokens.revoke(which);
      // One that is looked up just now may still be believed.
      generation += 1;
      believed.clear();
      return was;
    },
  };
  return {
    routes: [
      ...rulesRoutes(rules),
      ...customersRoutes({ ...database, rules: () => service.current().rules }),
      ...recordsRoutes({ tokens: forgetting, audit }),
      ...common,
    ],
    hasTokens: tokens.hasAny,
    async bearerOf(token) {
      const known = believed.get(token);
      if (known !== undefined && performance.now() < known.until) return known.bearer;
      const asOf = generation;
      const bearer = await tokens.verify(token);
      if (believed.size >= mostBelieved) believed.clear();
      if (bearer !== undefined && asOf === generation) believed.set(token, { until: performance.now() + believedMs, bearer });
      return bearer;
    },
  };
}
