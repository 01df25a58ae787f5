import type { PortableReceipt, Settlement } from 'headgate';
import type { Service } from './service.js';

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
export function settle(service: Service, id: string, actual: number): Promise<Settlement> {
  return service.current().limiter.settle(open(service, id), actual);
}

/** Gives back what a decision took; how many units came back. */
export async function refund(service: Service, id: string): Promise<{ readonly returned: number }> {
  return { returned: await service.current().limiter.refund(open(service, id)) };
}

/** Ends a concurrency holder. */
export async function release(service: Service, id: string): Promise<{ readonly released: boolean }> {
  return { released: await service.current().limiter.release(open(service, id)) };
}

/** Prolongs a concurrency holder. */
export async function extend(service: Service, id: string): Promise<{ readonly extended: boolean }> {
  return { extended: await service.current().limiter.extend(open(service, id)) };
}
