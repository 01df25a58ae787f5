/** What was opened so far, to be closed in reverse order: at the end, or when a start fails half way. */
export interface Opened {
  /** `what` is named if it cannot be closed. */
  add(what: string, close: () => unknown): void;
  /** Closes the last first. One that fails, or does not end in time, is told and left. */
  closeAll(): Promise<void>;
}

/** How long one of them may take to close, in milliseconds: counters and checkpoints are given back over a network that may be away. */
const closingMs = 5000;

const failed = Symbol();

async function within(ms: number, work: () => unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<symbol>((resolve) => (timer = setTimeout(() => resolve(failed), ms)));
  try {
    return await Promise.race([Promise.resolve().then(work), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param onFault told of what could not be closed */
export function opened(onFault: (message: string) => void): Opened {
  const all: { readonly what: string; readonly close: () => unknown }[] = [];
  return {
    add: (what, close) => void all.push({ what, close }),
    async closeAll() {
      for (let one = all.pop(); one !== undefined; one = all.pop()) {
        try {
          if ((await within(closingMs, one.close)) === failed) onFault(`${one.what} did not close within ${closingMs} ms`);
        } catch (error) {
          onFault(`${one.what} did not close: ${(error as Error).message}`);
        }
      }
    },
  };
}
