import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { type Stoppable, WatchRecovery } from '../src/watch-recovery.ts';

class Caller implements Stoppable {
  readonly #over = new AbortController();
  readonly signal: AbortSignal = this.#over.signal;

  get stopped(): boolean {
    return this.signal.aborted;
  }

  stop(): void {
    this.#over.abort();
  }
}

const caller = new Caller();

/** Random numbers at their least: pauses are half their length. */
const random = { u32: () => 0 };

function begin() {
  const clock = new ManualClock();
  return { clock, recovery: new WatchRecovery(clock, random) };
}

describe('lost watches', () => {
  it('start again 32 at a time, and all of them in the end', async () => {
    const { recovery } = begin();
    let [running, most, done] = [0, 0, 0];
    const task = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await turn();
      running -= 1;
      done += 1;
    };
    await Promise.all(Array.from({ length: 500 }, () => recovery.run(task, caller)));
    expect({ most, done }).toEqual({ most: 32, done: 500 });
  });

  it('pause after a failure, longer after each, and briefly again after a success', async () => {
    const { clock, recovery } = begin();
    /** How long a watch that starts now waits, in ms. */
    const waitOf = async (): Promise<number> => {
      const fromMs = clock.monotonic();
      let waitedMs = Number.NaN;
      const started = recovery.run(async () => void (waitedMs = clock.monotonic() - fromMs), caller);
      await clock.advance(1_000);
      await started;
      return waitedMs;
    };
    expect(await waitOf()).toBe(0);
    for (let failures = 0; failures < 32; failures += 1) recovery.hold();
    expect(await waitOf()).toBe(50);
    const fail = (): Promise<never> => Promise.reject(new Error('no'));
    const waits: number[] = [];
    for (let failures = 0; failures < 6; failures += 1) {
      recovery.hold();
      const fromMs = clock.monotonic();
      const failed = recovery.run(() => {
        waits.push(clock.monotonic() - fromMs);
        return fail();
      }, caller);
      await Promise.all([failed.catch(() => {}), clock.advance(1_000)]);
    }
    expect(waits).toEqual([50, 100, 200, 400, 500, 500]);
    recovery.hold();
    await waitOf();
    recovery.hold();
    expect(await waitOf()).toBe(50);
  });

  it('that are given up while they wait do not start, and leave their place to the next', async () => {
    const { clock, recovery } = begin();
    const block = Promise.withResolvers<void>();
    const running = Array.from({ length: 32 }, () => recovery.run(() => block.promise, caller));
    const impatient = new Caller();
    const givenUp = recovery.run(() => expect.unreachable('it was given up'), impatient);
    const next = recovery.run(async () => 'next', caller);
    impatient.stop();
    block.resolve();
    await expect(givenUp).rejects.toThrow('stopped');
    expect(await next).toBe('next');
    await Promise.all(running);
    expect(clock.timers).toBe(0);
  });

  it('that are given up during a pause reject at once', async () => {
    const { clock, recovery } = begin();
    recovery.hold();
    const impatient = new Caller();
    const givenUp = recovery.run(() => expect.unreachable('it was given up'), impatient);
    impatient.stop();
    await expect(givenUp).rejects.toThrow('stopped');
    expect(clock.timers).toBe(0);
  });
});
