import { setting } from '../settings.ts';
import { Broker } from './broker/broker.ts';
import { BROKER } from './broker/messages.ts';

/**
 * A `globalSetup` of vitest: lets the test processes of one run share servers, and stops the
 * servers after the run. It starts no server itself, so a run that needs none starts none.
 */
export async function setup(): Promise<() => Promise<void>> {
  if (setting(BROKER) !== undefined) return async () => {};
  const broker = await Broker.start();
  process.env[BROKER] = broker.url;
  return async () => {
    delete process.env[BROKER];
    await broker.close();
  };
}
