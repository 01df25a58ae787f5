/** A line for who ran the command. */
export const out = (line: string): void => void process.stdout.write(`${line}\n`);
