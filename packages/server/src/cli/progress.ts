/** Between two lines, in milliseconds: no terminal shows more. */
const everyMs = 100;

export interface Progress {
  /** What is done by now, in place of what was told before. */
  tell(text: string): void;
  /** Leaves nothing behind. */
  end(): void;
}

/** One line that changes, for who watches; silent unless it is a terminal. */
export function progressOn(stream: NodeJS.WriteStream = process.stderr): Progress {
  let last = Number.NEGATIVE_INFINITY;
  let isShown = false;
  if (!stream.isTTY) return { tell: () => undefined, end: () => undefined };
  return {
    tell(text) {
      const now = performance.now();
      if (now - last < everyMs) return;
      last = now;
      isShown = true;
      stream.write(`\r\u001b[K${text.slice(0, Math.max(1, (stream.columns || 80) - 1))}`);
    },
    end() {
      if (isShown) stream.write('\r\u001b[K');
      isShown = false;
    },
  };
}
