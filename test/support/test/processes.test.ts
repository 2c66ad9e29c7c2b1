import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { spawnScript, until } from '../src/index.ts';

const CHATTERBOX = new URL('./scripts/chatterbox.ts', import.meta.url);
const TICKER = new URL('./scripts/ticker.ts', import.meta.url);
const WAIT = { withinMs: 10_000 };

describe('a script', () => {
  test('runs as a process of its own, with arguments and environment, on the workspace’s sources', async () => {
    await using script = await spawnScript(TICKER, { args: ['one', '--last'], env: { GREETING: 'hello' } });
    const started = await script.waitFor('started', WAIT);
    expect(started.fields).toEqual({ pid: script.pid, args: ['one', '--last'], greeting: 'hello', big: '9223372036854775807' });
    expect(script.pid).not.toBe(process.pid);
    await expect(script.exited).resolves.toBe(0);
  });

  test('makes way for others where it is told to', async () => {
    await using one = await spawnScript(TICKER);
    await using other = await spawnScript(TICKER, { nice: 19 });
    expect([getPriority(one.pid), getPriority(other.pid)]).toEqual([getPriority(), 19]);
  });

  test('stamps its events with a clock that this process shares', async () => {
    const before = process.hrtime.bigint();
    await using script = await spawnScript(TICKER);
    const started = await script.waitFor('started', WAIT);
    const tick = await script.waitFor('tick', WAIT);
    expect(started.at).toBeGreaterThan(before);
    expect(tick.at).toBeGreaterThan(started.at);
    expect(process.hrtime.bigint()).toBeGreaterThan(tick.at);
  });

  test('tells everything, though its parent is slow to read', async () => {
    await using script = await spawnScript(CHATTERBOX);
    await script.waitFor('ready', WAIT);
    script.sigusr2();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    expect([await script.exited, script.output]).toEqual([0, []]);
    expect(script.events.slice(1).map(({ fields }) => fields['number'])).toEqual(Array.from({ length: 2_000 }, (_, number) => number));
  });

  test('what it prints besides events is kept as output', async () => {
    await using script = await spawnScript(TICKER, { args: ['--last'] });
    await script.exited;
    expect(script.events.map(({ event }) => event)).toEqual(['started']);
    expect(script.output.toSorted()).toEqual(['not an event', '{"event":"neither"}']);
  });

  test('SIGTERM lets it end in order, with its own status and its last events', async () => {
    await using script = await spawnScript(TICKER);
    await script.waitFor('tick', WAIT);
    script.sigterm();
    await expect(script.exited).resolves.toBe(7);
    expect(script.events.at(-1)?.event).toBe('terminated');
    expect(script.running).toBe(false);
  });

  test('SIGSTOP stops it where it is, and SIGCONT lets it go on', async () => {
    await using script = await spawnScript(TICKER);
    await script.waitFor('tick', WAIT);
    script.sigstop();
    await sleep(100);
    const from = script.events.length;
    const stoppedAt = process.hrtime.bigint();
    await sleep(200);
    expect(script.events.length).toBe(from);
    script.sigcont();
    const next = await script.waitFor('tick', { ...WAIT, from });
    expect(next.at - stoppedAt).toBeGreaterThan(199_000_000n);
  });

  test('SIGKILL ends it at once, stopped or not', async () => {
    await using script = await spawnScript(TICKER);
    await script.waitFor('tick', WAIT);
    script.sigstop();
    script.sigkill();
    await expect(script.exited).resolves.toBe(128 + 9);
    script.sigkill();
  });

  test('waiting for an event that does not come tells what came instead', async () => {
    await using script = await spawnScript(TICKER);
    await script.waitFor('tick', WAIT);
    await expect(script.waitFor('elected', { withinMs: 50 })).rejects.toThrow(
      /event elected did not come within 50 ms[^]*started[^]*not an event/,
    );
  });

  test('waiting for an event of a script that has ended does not last', async () => {
    await using script = await spawnScript(TICKER, { args: ['--last'] });
    const start = performance.now();
    await expect(script.waitFor(({ event }) => event === 'elected', { withinMs: 30_000 })).rejects.toThrow('ended without an event');
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test('one that does not load says why', async () => {
    await using script = await spawnScript('/nowhere/script.ts');
    await expect(script.waitFor('started', WAIT)).rejects.toThrow(/ended without the event started[^]*nowhere/);
  });

  test('leaves no process behind when its scope ends', async () => {
    let pid: number;
    {
      await using script = await spawnScript(TICKER);
      pid = script.pid;
      await script.waitFor('tick', WAIT);
    }
    await until(() => !isAlive(pid), { what: 'the end of the script' });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
