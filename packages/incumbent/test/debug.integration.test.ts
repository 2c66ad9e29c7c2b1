import { spawnScript } from '@incumbent/test-support';
import { expect, it } from 'vitest';

const WAITING = new URL('./waits-for-a-store.ts', import.meta.url);
const SCRIPT = new URL('./leads-once.ts', import.meta.url);

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

it.each([
  ['INCUMBENT_DEBUG', '1'],
  ['NODE_DEBUG', 'incumbent'],
])('%s=%s prints every event', async (name, value) => {
  await using script = await spawnScript(SCRIPT, { env: { [name]: value } });
  expect(await script.exited).toBe(0);
  for (const event of ['sessionOpened', 'elected', 'ended', 'released'])
    expect(script.output).toContainEqual(expect.stringMatching(`^${TIME} incumbent ${event} \\{`));
});

it('INCUMBENT_DEBUG=1 prints that openStore waits, without the password of the URL', async () => {
  await using script = await spawnScript(WAITING, { env: { INCUMBENT_DEBUG: '1' } });
  expect(await script.exited).toBe(0);
  const wait = script.output.find((line) => line.includes(' incumbent waitingForStore {'));
  expect(wait).toMatch(/ url: 'redis:\/\/127\.0\.0\.1:1\/my-app', waitedMs: \d+, error: .UNREACHABLE: /);
  expect(script.output.join()).not.toContain('hunter2');
});

it('says nothing about the wait for a store otherwise', async () => {
  await using script = await spawnScript(WAITING);
  expect([await script.exited, script.output]).toEqual([0, []]);
});

it('prints nothing otherwise', async () => {
  await using script = await spawnScript(SCRIPT);
  expect([await script.exited, script.output]).toEqual([0, []]);
});
