import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeCases } from '../src/testing/index.js';
import { memoryUnderTest, redisUnderTest } from './support/stores.js';

for (const tested of [memoryUnderTest, redisUnderTest()]) {
  describe(`the ${tested.name} store`, () => {
    beforeAll(() => tested.start());
    afterAll(() => tested.stop());
    for (const storeCase of storeCases) it(storeCase.name, async () => storeCase.run(await tested.fresh()));
  });
}
