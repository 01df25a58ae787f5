import { remoteStore } from 'headgate/remote';
import { storeCases } from 'headgate/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { memoryUnderTest, redisUnderTest } from '../../headgate/test/support/stores.js';
import { serve, token } from './support/served-store.js';

for (const tested of [memoryUnderTest, redisUnderTest()]) {
  describe(`a remote store over a service with the ${tested.name} store`, () => {
    beforeAll(() => tested.start());
    afterAll(() => tested.stop());
    for (const storeCase of storeCases) {
      it(storeCase.name, async () => {
        const { store, advance } = await tested.fresh();
        const service = await serve(store);
        const remote = remoteStore({ url: service.url, token });
        try {
          await storeCase.run({ store: remote, advance });
        } finally {
          await remote.close();
          await service.close();
        }
      });
    }
  });
}
