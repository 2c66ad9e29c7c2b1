import type { TestProject } from 'vitest/node';

import { setting } from '../settings.ts';
import { Broker } from './broker/broker.ts';
import { BROKER } from './broker/messages.ts';
import { prepareApiServer } from './kubernetes/prepare.ts';

/**
 * A `globalSetup` of vitest: lets the test processes of one run share servers, and stops the
 * servers after the run. It starts no server itself, so a run that needs none starts none. It
 * builds the server that takes minutes to build, if a test file of the run needs it.
 */
export async function setup({ vitest }: Pick<TestProject, 'vitest'>): Promise<() => Promise<void>> {
  if (setting(BROKER) !== undefined) return async () => {};
  await prepareApiServer(vitest.state.getPaths());
  const broker = await Broker.start();
  process.env[BROKER] = broker.url;
  return async () => {
    delete process.env[BROKER];
    await broker.close();
  };
}
