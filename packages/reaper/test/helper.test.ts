import { EventEmitter } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Helper } from '../src/helper.ts';
import { writeLine, type Told } from '../src/messages.ts';
import type { Started } from '../src/spawn.ts';

/** A reaper's process that does nothing but note. */
class Fake {
  readonly told: Told[] = [];
  readonly signals: unknown[] = [];
  readonly child = new EventEmitter();
  readonly pipe = new Socket();
  readonly lean: boolean;

  constructor(lean: boolean) {
    this.lean = lean;
    this.pipe.write = (line: unknown) => {
      const message: Told = JSON.parse(String(line));
      this.told.push(message);
      if (message.type === 'end') queueMicrotask(() => this.exit(0, null));
      return true;
    };
    Object.assign(this.child, {
      pid: 4711,
      ref: () => {},
      kill: (signal: unknown) => this.signals.push(signal),
    });
  }

  started(hasPipe: boolean): Started {
    // What is left out is not used.
    return { child: this.child as ChildProcess, pipe: hasPipe ? this.pipe : undefined };
  }

  ready(): void {
    this.pipe.emit('data', writeLine({ type: 'ready' }));
  }

  exit(code: number | null, signal: string | null): void {
    this.child.emit('close', code, signal);
  }
}

const PARENT: Told = { type: 'parent', pid: 1 };
const LEASE: Told = { type: 'lease', lease: 2, store: 1, owner: 1, ticket: 't' };
const STORE: Told = { type: 'store', store: 1, module: 'm', access: 'a' };

function scene({ hasPipe = true } = {}): {
  helper: Helper;
  fakes: Fake[];
  events: unknown[];
  listener: { emit: (...event: unknown[]) => void };
} {
  const fakes: Fake[] = [];
  const events: unknown[] = [];
  const start = (lean: boolean): Started => {
    const fake = new Fake(lean);
    fakes.push(fake);
    return fake.started(hasPipe);
  };
  const helper = new Helper({ start, parent: PARENT });
  const listener = { emit: (...event: unknown[]) => void events.push(event) };
  helper.add(listener);
  return { helper, fakes, events, listener };
}

function at<T>(list: readonly T[], index: number): T {
  return list.at(index) ?? expect.unreachable(`there is no number ${index}`);
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the reaper of a process', () => {
  it('that is started anew is told of a lease that is gone, as long as a group may live by it, and after the group', () => {
    const { helper, fakes } = scene();
    const gone: readonly Told[] = [
      { type: 'renewed', lease: 2, safeUntil: 10, wallSafeUntil: 10, overBy: 20 },
      { type: 'ended', lease: 2, at: 5 },
    ];
    const group: Told = { type: 'group', pid: 200, owner: 1, at: 4, wallAt: 4 };
    for (const message of [STORE, LEASE, group, ...gone]) helper.tell(message);
    helper.tell({ type: 'forget', lease: 2 });
    at(fakes, 0).exit(1, null);
    vi.advanceTimersByTime(1_000);
    expect(at(fakes, 1).told).toEqual([PARENT, STORE, LEASE, ...gone, group, { type: 'forget', lease: 2 }]);
    helper.tell({ type: 'release', pid: 200 });
    helper.tell({ ...LEASE, lease: 3 });
    at(fakes, 1).exit(1, null);
    vi.advanceTimersByTime(2_000);
    expect(at(fakes, 2).told).toEqual([PARENT, STORE, { ...LEASE, lease: 3 }]);
  });

  it('that the system does not start is told of with the system’s reason, and started again', () => {
    const { helper, fakes, events } = scene({ hasPipe: false });
    helper.tell(LEASE);
    const error = new Error('spawn EMFILE');
    at(fakes, 0).child.emit('error', error);
    expect(events).toMatchObject([['reaperLost', { error }]]);
    vi.advanceTimersByTime(1_000);
    expect(fakes.length).toBe(2);
  });

  it('is started with the first lease, and told who it is for before all else', () => {
    const { helper, fakes } = scene();
    helper.tell(STORE);
    expect(fakes).toEqual([]);
    helper.tell(LEASE);
    expect(at(fakes, 0).told).toEqual([PARENT, STORE, LEASE]);
    helper.tell({ type: 'forget', lease: 2 });
    expect(at(fakes, 0).told.at(-1)).toEqual({ type: 'forget', lease: 2 });
  });

  it('is one for all members, and ends with the last of them', async () => {
    const { helper, fakes, listener } = scene();
    const other = { emit: () => {} };
    helper.add(other);
    helper.tell(LEASE);
    helper.tell({ ...LEASE, lease: 3 });
    expect(fakes.length).toBe(1);
    helper.tell({ type: 'forget', lease: 2 });
    helper.tell({ type: 'forget', lease: 3 });
    await helper.remove(listener);
    expect(at(fakes, 0).told.at(-1)?.type).toBe('forget');
    await helper.remove(other);
    expect(at(fakes, 0).told.at(-1)).toEqual({ type: 'end' });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(fakes.length).toBe(1);
  });

  it('stays for a group that is bound, when all members have gone', async () => {
    const { helper, fakes, listener } = scene();
    helper.tell({ type: 'group', pid: 9, owner: 1, at: 1, wallAt: 1 });
    await helper.remove(listener);
    expect(at(fakes, 0).told.at(-1)?.type).toBe('group');
    helper.tell({ type: 'release', pid: 9 });
    expect(at(fakes, 0).told.at(-1)).toEqual({ type: 'end' });
  });

  it('is killed when it does not end though it was told to', async () => {
    const { helper, fakes, listener } = scene();
    helper.tell(LEASE);
    helper.tell({ type: 'forget', lease: 2 });
    const fake = at(fakes, 0);
    fake.pipe.write = () => true;
    const gone = helper.remove(listener);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fake.signals).toEqual(['SIGKILL']);
    fake.exit(null, 'SIGKILL');
    await gone;
  });

  it('is replaced when it dies, by one that is told all again: after 1 s, then after twice as long each time, a minute at most', async () => {
    const { helper, fakes, events } = scene();
    helper.tell(STORE);
    helper.tell(LEASE);
    helper.tell({ type: 'renewed', lease: 2, safeUntil: 1, wallSafeUntil: 1, overBy: 2 });
    helper.tell({ type: 'renewed', lease: 2, safeUntil: 8, wallSafeUntil: 8, overBy: 9 });
    at(fakes, 0).ready();
    const waits: number[] = [];
    for (let turn = 1; turn <= 9; turn += 1) {
      at(fakes, -1).exit(null, 'SIGKILL');
      const from = performance.now();
      while (fakes.length === turn) await vi.advanceTimersByTimeAsync(100);
      waits.push(performance.now() - from);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(at(fakes, -1).told).toEqual([PARENT, STORE, LEASE, { type: 'renewed', lease: 2, safeUntil: 8, wallSafeUntil: 8, overBy: 9 }]);
    // Told once that it is gone, as there was none since.
    expect(events.map((event) => JSON.stringify(event))).toEqual([
      '["reaperReady",{"pid":4711}]',
      '["reaperLost",{"code":null,"signal":"SIGKILL","nextInMs":1000}]',
    ]);
    at(fakes, -1).ready();
    at(fakes, -1).exit(1, null);
    expect(events.length).toBe(4);
  });

  it('is not replaced when there is nothing left for it to do', async () => {
    const { helper, fakes, events } = scene();
    helper.tell(LEASE);
    helper.tell({ type: 'forget', lease: 2 });
    at(fakes, 0).exit(null, 'SIGKILL');
    await vi.advanceTimersByTimeAsync(100_000);
    expect(fakes.length).toBe(1);
    expect(events).toEqual([]);
    helper.tell(LEASE);
    expect(fakes.length).toBe(2);
  });

  it('is started without V8’s options where the one before did not get as far as to be ready', async () => {
    const { helper, fakes } = scene();
    helper.tell(LEASE);
    at(fakes, 0).exit(9, null);
    await vi.advanceTimersByTimeAsync(1_000);
    at(fakes, 1).ready();
    at(fakes, 1).exit(null, 'SIGKILL');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(fakes.map(({ lean }) => lean)).toEqual([true, false, true]);
  });

  it('is not replaced where it says that it could never help', async () => {
    const { helper, fakes, events } = scene();
    helper.tell(LEASE);
    at(fakes, 0).pipe.emit('data', writeLine({ type: 'refused', why: 'so' }));
    at(fakes, 0).exit(0, null);
    await vi.advanceTimersByTimeAsync(100_000);
    helper.tell({ ...LEASE, lease: 3 });
    expect(fakes.length).toBe(1);
    expect(events).toEqual([['reaperLost', { why: 'so' }]]);
  });

  it('is killed when its pipe breaks, as what it knows is not the truth any more', () => {
    const { helper, fakes } = scene();
    helper.tell(LEASE);
    at(fakes, 0).pipe.emit('error', new Error('EBADF'));
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
  });

  it('is killed when it reads nothing of a million bytes', () => {
    const { helper, fakes } = scene();
    helper.tell(LEASE);
    Object.defineProperty(at(fakes, 0).pipe, 'writableLength', { value: 2_000_000 });
    helper.tell({ type: 'forget', lease: 2 });
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
  });

  it('is tried again where it could not even be started', async () => {
    const events: unknown[] = [];
    let tries = 0;
    const start = (): Started => {
      tries += 1;
      throw new Error('EAGAIN');
    };
    const helper = new Helper({ start, parent: PARENT });
    helper.add({ emit: (...event) => void events.push(event) });
    helper.tell(LEASE);
    expect(events).toEqual([['reaperLost', { error: new Error('EAGAIN'), nextInMs: 1_000 }]]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(tries).toBe(3);
    expect(events.length).toBe(1);
  });
});
