/** Entry point of the `headgate` command. */
export async function main(_args: readonly string[]): Promise<void> {}
