/** Has a process do what processes.mjs tells it, one thing at a time, and end with the one that tells. */
export function obey(verbs) {
  process.on('message', ({ verb, ...what }) => {
    Promise.resolve(verbs[verb](what)).then(
      (answer) => process.send({ answer }),
      (error) => process.send({ error: error.stack }),
    );
  });
  process.on('disconnect', () => process.exit());
}
