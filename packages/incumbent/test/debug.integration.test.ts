import { spawnScript } from '@incumbent/test-support';
import { expect, it } from 'vitest';

const SCRIPT = new URL('./leads-once.ts', import.meta.url);

it.each([
  ['INCUMBENT_DEBUG', '1'],
  ['NODE_DEBUG', 'incumbent'],
])('%s=%s prints every event', async (name, value) => {
  await using script = await spawnScript(SCRIPT, { env: { [name]: value } });
  expect(await script.exited).toBe(0);
  for (const event of ['sessionOpened', 'elected', 'ended', 'released'])
    expect(script.output).toContainEqual(expect.stringMatching(`^incumbent ${event} \\{`));
});

it('prints nothing otherwise', async () => {
  await using script = await spawnScript(SCRIPT);
  expect([await script.exited, script.output]).toEqual([0, []]);
});
