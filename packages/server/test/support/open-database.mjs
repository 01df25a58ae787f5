// Some servers of a process of its own: they open a database at once, as soon as they are told to, add a rule each, and say which version it is.
import { readDatabaseUrl } from '../../dist/database/address.js';
import { openDatabase } from '../../dist/database/open.js';

const rule = { limit: { fixedWindow: { limit: 1, window: '1h' } } };

async function add({ rules }, name) {
  for (;;) {
    const { version: base } = await rules.current();
    try {
      return (await rules.change({ base, author: name, reason: '', put: { [name]: rule } })).version;
    } catch (error) {
      if (error.name !== 'ConflictError') throw error;
    }
  }
}

async function serve(url, name) {
  const database = openDatabase(readDatabaseUrl(url));
  try {
    return await add(database, name);
  } catch (error) {
    return error.message;
  } finally {
    await database.close();
  }
}

process.once('message', async ({ url, servers }) => {
  process.send(await Promise.all(Array.from({ length: servers }, (_, index) => serve(url, `rule ${process.pid} ${index}`))));
  process.disconnect();
});
process.send('waiting');
