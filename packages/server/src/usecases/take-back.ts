import type { AttemptResult, PortableReceipt, Settlement } from 'headgate';
import { limitInForce } from '../rules/compile.js';
import { answered, type Service } from './service.js';

/** An id that no server of this fleet made, or made under another secret. */
export class UnknownIdError extends Error {
  override readonly name = 'UnknownIdError';
  constructor() {
    super(
      'this id was not made by this service, or under another secret; pass the id of a decision as it came, and give all servers the same HEADGATE_SECRET',
    );
  }
}

function open({ receipts }: Service, id: string): PortableReceipt {
  const receipt = receipts.open(id);
  if (receipt === undefined) throw new UnknownIdError();
  return receipt;
}

/** Gives or charges the difference to the true cost. */
export async function settle(service: Service, id: string, actual: number): Promise<Settlement> {
  const receipt = open(service, id);
  const settlement = await service.whileLowering(receipt, async () => {
    const settled = await service.current().limiter.settle(receipt, actual);
    service.returned(receipt, settled.returned);
    return settled;
  });
  if (settlement.charged > 0 && receipt.limit.kind === 'quota') await tellCharged(service, receipt);
  return settlement;
}

/** What is charged may use up a quota as a check does. Nothing is told of a rule or plan that is no quota any more. */
async function tellCharged(service: Service, { rule, key, plan }: PortableReceipt): Promise<void> {
  const inForce = service.current();
  if (limitInForce(inForce.rules, rule, plan)?.kind !== 'quota') return;
  const now = await inForce.limiter.peek(rule, key, plan === undefined ? undefined : { plan });
  service.charged(answered(inForce, now, plan));
}

/** Gives back what a decision took; how many units came back. */
export async function refund(service: Service, id: string): Promise<{ readonly returned: number }> {
  const receipt = open(service, id);
  return service.whileLowering(receipt, async () => {
    const returned = await service.current().limiter.refund(receipt);
    service.returned(receipt, returned);
    return { returned };
  });
}

/** Tells what became of an attempt to log in; whether all failures of its key are forgotten. */
export async function outcome(service: Service, id: string, result: AttemptResult): Promise<{ readonly forgotten: boolean }> {
  return { forgotten: await service.current().limiter.outcome(open(service, id), result) };
}

/** Ends a concurrency holder. */
export async function release(service: Service, id: string): Promise<{ readonly released: boolean }> {
  return { released: await service.current().limiter.release(open(service, id)) };
}

/** Prolongs a concurrency holder. */
export async function extend(service: Service, id: string): Promise<{ readonly extended: boolean }> {
  return { extended: await service.current().limiter.extend(open(service, id)) };
}
