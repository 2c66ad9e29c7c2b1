/** The driver, with a minimal algorithm that does what each message tells it to. */

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { Driver, type Written } from '../src/driver.ts';
import type { Algorithm, AlgorithmState, Validity, Output } from '../src/index.ts';

interface Puppet extends AlgorithmState {
  readonly validity: Validity<'quorum'> | undefined;
}

type Out = Output<Order | string, unknown>;

/** The next state, and what is to be done. */
interface Order extends Partial<Puppet> {
  readonly outputs: readonly Out[];
}

const puppet: Algorithm<'quorum', Puppet, Order | string> = {
  name: 'puppet',
  safety: 'quorum',
  members: ['a', 'b'],
  configuration: 'puppet',
  persists: true,
  start: () => ({ wakeAtMs: undefined, validity: undefined }),
  step: (state, input) => {
    if (input.type === 'message') {
      if (input.message === 'throw') throw new Error('a defect of the algorithm');
      if (typeof input.message === 'string') return { state, outputs: [] };
      const { outputs, ...changes } = input.message;
      return { state: { ...state, ...changes }, outputs };
    }
    if (input.type === 'tick') return { state: { ...state, wakeAtMs: undefined }, outputs: [say('tick')] };
    return { state: { ...state, validity: undefined }, outputs: [say(input.command.type)] };
  },
  validity: ({ validity }) => validity,
  view: () => ({ state: 'unknown' }),
  highestTerm: () => 0n,
  successor: () => undefined,
  whyNoSuccessor: () => 'it has none',
  sortOf: String,
  readMessage: () => undefined,
  readDurable: (data) => data,
};

function say(what: string): Out {
  return { type: 'send', to: 'b', message: what };
}

const keep = (durable: string): Out => ({ type: 'persist', durable });
const elected: Out = { type: 'event', event: { type: 'elected' } };
const ended: Out = { type: 'event', event: { type: 'ended', reason: 'newerTerm' } };

class Stage {
  readonly clock = new ManualClock();
  readonly done: string[] = [];
  readonly driver: Driver<'quorum'>;
  #written: (written: Written) => void = () => {};
  views = 0;
  /** What the application does when the driver asks for its position. */
  onPosition: () => void = () => {};
  /** What the application does when a leadership ends. */
  onEnded: () => void = () => {};

  constructor() {
    const tell = (what: string) => (): void => void this.done.push(what);
    this.driver = new Driver<'quorum'>(
      puppet,
      puppet.start({ memberId: 'a', now: { monotonicMs: 0, wallMs: 0 }, seed: 0, durable: undefined }),
      {
        clock: this.clock,
        position: () => {
          this.onPosition();
          return { lastTerm: 0n, lastIndex: 0n };
        },
        send: (_, message) => void this.done.push(`said ${String(message)}`),
        persist: (durable, done) => {
          this.done.push(`keeps ${String(durable)}`);
          this.#written = done;
        },
        elected: tell('elected'),
        ended: (reason) => {
          this.done.push(`ended: ${reason}`);
          this.onEnded();
        },
        viewed: () => {
          this.views += 1;
        },
        membership: () => {},
        conflict: () => {},
        failed: tell('failed'),
      },
    );
  }

  get validity(): Validity<'quorum'> {
    const from = { monotonicMs: this.clock.monotonic(), wallMs: this.clock.wall() };
    return { term: 1n, round: undefined, from, forMs: 100, safeForMs: 150 };
  }

  order(order: Order): this {
    this.driver.receive('b', order);
    return this;
  }

  written(error?: Error): void {
    this.#written(error === undefined ? { ok: true } : { ok: false, error });
  }
}

describe('a driver', () => {
  it('takes no output of a step into effect, and takes no other step, until the persisted data are durable', () => {
    const stage = new Stage();
    const { validity } = stage;
    stage.order({ validity, outputs: [say('1'), elected, keep('1')] }).order({ outputs: [say('2')] });
    expect(stage.done).toEqual(['keeps 1']);
    expect(stage.driver.isValid()).toBe(false);
    stage.written();
    expect(stage.done).toEqual(['keeps 1', 'said 1', 'elected', 'said 2']);
    expect(stage.driver.isValid()).toBe(true);
  });

  it('takes the end of a leadership before all that waits when `position` finds that it is over', () => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, outputs: [elected] });
    stage
      .order({ outputs: [keep('1')] })
      .order({ outputs: [say('2')] })
      .order({ outputs: [say('3'), keep('3')] });
    stage.onPosition = () => {
      stage.clock.advanceWall(200);
      stage.driver.isValid();
    };
    stage.written();
    expect(stage.done).toEqual(['elected', 'keeps 1', 'ended: clockJump', 'said 2', 'said end', 'keeps 3']);
    stage.written();
    expect(stage.done.slice(6)).toEqual(['said 3']);
  });

  it('ends a leadership by itself when the machine slept, before a tick that would announce it', async () => {
    const stage = new Stage().order({ wakeAtMs: 10, outputs: [] });
    stage.order({ validity: stage.validity, outputs: [elected] });
    stage.clock.advanceWall(200);
    await stage.clock.advance(10);
    expect(stage.done).toEqual(['elected', 'ended: clockJump', 'said end', 'said tick']);
  });

  it('ends a leadership by itself when the machine slept during a write, before the inputs that wait', () => {
    const stage = new Stage();
    stage
      .order({ validity: stage.validity, outputs: [elected] })
      .order({ outputs: [keep('1')] })
      .order({ outputs: [say('2')] });
    stage.clock.advanceWall(200);
    stage.written();
    expect(stage.done).toEqual(['elected', 'keeps 1', 'ended: clockJump', 'said end', 'said 2']);
  });

  it('takes no step during a write that began while the application learned of an end', async () => {
    const stage = new Stage().order({ wakeAtMs: 10, outputs: [] });
    stage.order({ validity: stage.validity, outputs: [elected] });
    stage.onEnded = () => void stage.order({ outputs: [say('3'), keep('3')] }).order({ outputs: [say('4')] });
    stage.clock.advanceWall(200);
    await stage.clock.advance(10);
    expect(stage.done).toEqual(['elected', 'ended: clockJump', 'said end', 'said tick', 'keeps 3']);
    stage.written();
    expect(stage.done.slice(5)).toEqual(['said 3', 'said 4']);
  });

  it('takes no step after the application has stopped it because of an end', async () => {
    const stage = new Stage().order({ wakeAtMs: 10, outputs: [] });
    stage.order({ validity: stage.validity, outputs: [elected] });
    stage.onEnded = () => stage.driver.stop();
    stage.clock.advanceWall(200);
    await stage.clock.advance(10);
    expect(stage.done).toEqual(['elected', 'ended: clockJump']);
  });

  it('sends nothing and calls no port after it has stopped by itself', () => {
    const stage = new Stage().order({ outputs: [{ type: 'event', event: { type: 'joinFailed' } }, say('too late')] });
    expect(stage.done).toEqual(['failed']);
    expect(stage.views).toBe(0);
  });

  it('ends validity before it persists, and reports the end', () => {
    const stage = new Stage().order({ outputs: [] });
    stage.order({ validity: stage.validity, outputs: [elected] }).order({ validity: undefined, outputs: [say('2'), ended, keep('2')] });
    expect(stage.done).toEqual(['elected', 'ended: newerTerm', 'keeps 2']);
    expect(stage.driver.isValid()).toBe(false);
  });

  it('ends a leadership that a step takes away without an event, before it persists', () => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, outputs: [elected] }).order({ validity: undefined, outputs: [say('2'), keep('2')] });
    expect(stage.done).toEqual(['elected', 'ended: superseded', 'keeps 2']);
    expect(stage.driver.isValid()).toBe(false);
    stage.written();
    expect(stage.done.slice(3)).toEqual(['said 2']);
  });

  it.each([
    ['before a sleep', [-80, 0], 80],
    ['after a sleep', [0, -80], 80],
    ['and nobody slept', [0, -80], 0],
  ])('does not extend validity when the wall clock is set back %s', async (_, [before = 0, after = 0], sleptMs) => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, outputs: [elected] });
    await stage.clock.advance(10);
    stage.clock.advanceWall(before);
    // Whatever it does, it looks.
    stage.order({ outputs: [] });
    await stage.clock.advance(5);
    stage.clock.advanceWall(sleptMs);
    stage.order({ outputs: [] });
    await stage.clock.advance(5);
    stage.clock.advanceWall(after);
    stage.order({ outputs: [] });
    expect(Math.round(stage.driver.remainingMs())).toBe(100 - 20 - sleptMs);
  });

  it('grants the full validity after a majority has answered, even if the wall clock has changed before', async () => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, outputs: [elected] });
    await stage.clock.advance(10);
    stage.clock.advanceWall(-80);
    stage.order({ outputs: [] });
    await stage.clock.advance(10);
    stage.order({ validity: stage.validity, outputs: [] });
    expect(stage.driver.remainingMs()).toBe(100);
  });

  it('ends at once when it cannot persist', async () => {
    const stage = new Stage().order({ wakeAtMs: 10, outputs: [say('1'), keep('1')] }).order({ outputs: [say('2')] });
    stage.written(new Error('no space left on device'));
    expect(stage.done).toEqual(['keeps 1', 'failed']);
    stage.order({ outputs: [say('3')] }).driver.command({ type: 'campaign' });
    await stage.clock.advance(1_000);
    expect(stage.done).toEqual(['keeps 1', 'failed']);
    expect(stage.clock.timers).toBe(0);
  });

  it('takes further steps after a step has thrown', () => {
    const stage = new Stage();
    expect(() => stage.driver.receive('b', 'throw')).toThrow('a defect of the algorithm');
    stage.order({ outputs: [say('2')] });
    expect(stage.done).toEqual(['said 2']);
  });

  it('ticks once at the time that the algorithm asks for', async () => {
    const stage = new Stage().order({ wakeAtMs: 50, outputs: [] });
    await stage.clock.advance(49);
    expect(stage.done).toEqual([]);
    stage.order({ wakeAtMs: 60, outputs: [] });
    await stage.clock.advance(10);
    expect(stage.done).toEqual([]);
    await stage.clock.advance(1_000);
    expect(stage.done).toEqual(['said tick']);
  });

  it('ends validity once when either clock passes the deadline, and informs the algorithm', async () => {
    for (const [reason, pass] of [
      ['deadline', (stage: Stage) => stage.clock.advance(100)],
      ['clockJump', async (stage: Stage) => stage.clock.advanceWall(100)],
    ] as const) {
      const stage = new Stage();
      stage.order({ validity: stage.validity, outputs: [elected] });
      await stage.clock.advance(0);
      expect(stage.driver.remainingMs()).toBe(100);
      await pass(stage);
      expect([stage.driver.isValid(), stage.driver.isValid()]).toEqual([false, false]);
      expect(stage.done).toEqual(['elected', `ended: ${reason}`, 'said end']);
    }
  });

  it('does not make an ended leadership valid again, even if the algorithm does', async () => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, outputs: [elected] });
    await stage.clock.advance(100);
    // While the driver writes, the end of validity waits. It handles an answer that arrived earlier
    // first.
    stage.order({ outputs: [keep('1')] }).order({ validity: stage.validity, outputs: [] });
    expect(stage.driver.isValid()).toBe(false);
    stage.written();
    expect(stage.driver.isValid()).toBe(false);
    expect(stage.done.filter((what) => what.startsWith('ended'))).toEqual(['ended: deadline']);
  });

  it('reports how late its timers have been since a majority last answered', async () => {
    const stage = new Stage();
    stage.order({ validity: stage.validity, wakeAtMs: 10, outputs: [elected] });
    expect(stage.driver.loopBlockedMs).toBe(0);
    await stage.clock.advance(10);
    expect(stage.driver.loopBlockedMs).toBe(0);
    stage.order({ wakeAtMs: stage.clock.monotonic() - 70, outputs: [] });
    expect(stage.driver.loopBlockedMs).toBe(70);
    await stage.clock.advance(1);
    expect(stage.driver.loopBlockedMs).toBe(71);
    stage.order({ validity: stage.validity, outputs: [] });
    expect(stage.driver.loopBlockedMs).toBe(0);
  });

  it('drops messages, but never commands, when its queue is full', () => {
    const stage = new Stage().order({ outputs: [keep('1')] });
    for (let i = 0; i < 1_500; i += 1) stage.order({ outputs: [say('more')] });
    stage.driver.command({ type: 'withdraw' });
    expect(stage.driver.dropped).toBe(500);
    stage.written();
    expect(stage.done.filter((what) => what === 'said more')).toHaveLength(1_000);
    expect(stage.done.at(-1)).toBe('said withdraw');
  });

  it('does nothing after it has stopped', async () => {
    const stage = new Stage().order({ wakeAtMs: 10, outputs: [keep('1'), say('1')] });
    stage.driver.stop();
    stage.written();
    stage.order({ outputs: [say('2')] });
    await stage.clock.advance(100);
    expect(stage.done).toEqual(['keeps 1']);
    expect(stage.clock.timers).toBe(0);
  });
});
