// One process under load, which does what its driver says: goes on, rests, tells what it holds. Needs --expose-gc.
import { once } from 'node:events';
import { openApp } from './app.mjs';
import { counting } from './counting.mjs';

const counts = counting();
const message = async () => (await once(process, 'message'))[0];

// Its driver is gone.
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);

const app = await openApp(await message(), counts);

process.on('unhandledRejection', (error) => counts.failed('unhandled rejection', String(error?.stack ?? error)));
process.on('uncaughtException', (error) => counts.failed('uncaught exception', String(error?.stack ?? error)));
// Such as Node's of too many listeners. What is experimental is how this process counts objects.
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') counts.failed('warning', String(warning.stack ?? warning));
});

const orders = {
  go: () => app.go(),
  async calm() {
    await app.calm();
    process.send('calm');
  },
  async rest(options) {
    await app.rest();
    process.send({ figures: app.figures(options), counts: counts.take() });
  },
};

async function obey() {
  process.send('ready');
  for (;;) {
    const { order, ...options } = await message();
    if (order === 'end') break;
    await orders[order](options);
  }
  await app.close();
  // Nothing is left that would keep this process alive; if something is, its driver tells.
  process.removeListener('disconnect', orphaned);
  process.send(counts.take(), () => process.disconnect());
}

obey().catch((error) => {
  console.error(error);
  process.exit(1);
});
