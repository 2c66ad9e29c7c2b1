/** A group of vitest tests that share one server of their own. */

import { afterAll, beforeAll, describe } from 'vitest';

import { requireStore, type RequiredStore } from './servers/require.ts';

/**
 * Defines tests that run on a server of their own, which is started before the first test and
 * stopped after the last. Skips them if the store's server is not available. Call `server` only
 * while the tests run.
 */
export async function describeOnServer<S extends { stop(): Promise<unknown> }>(
  name: string,
  { start, ...required }: RequiredStore & { readonly start: () => Promise<S> },
  declareTests: (server: () => S) => void,
): Promise<void> {
  describe.runIf(await requireStore({ ...required, own: true }))(name, () => {
    let running: S | undefined;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running?.stop());

    declareTests(() => {
      if (running === undefined) throw new Error('the server is started with the first test');
      return running;
    });
  });
}
