import { makeScratch } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { DeployedFleet } from './checks/deployment.ts';

it('a rolling deployment changes leaders once with the newest version first, and each time without', { timeout: 180_000 }, async () => {
  await using folder = await scratch();
  await using fleet = new DeployedFleet(`sqlite:${folder.path}/state.db`);
  await fleet.start(3, '1.9.0');
  const { changes } = await fleet.deploy('1.10.0', (joined) => joined);
  expect(changes).toEqual({ newest: 1, oldest: 3, plain: 3 });
  await fleet.finish();
});

async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const { path, remove } = await makeScratch('rolling-deploy');
  return { path, [Symbol.asyncDispose]: () => remove() };
}
