import { EventEmitter } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { ReaperProcess } from '../src/member/reaper-process.ts';
import { serializeMessage, type ParentMessage } from '../src/messages.ts';
import type { SpawnedReaper } from '../src/spawn.ts';

/** A reaper process that only records messages and signals. */
class FakeProcess {
  readonly received: ParentMessage[] = [];
  readonly signals: unknown[] = [];
  readonly child = new EventEmitter();
  readonly pipe = new Socket();
  readonly lean: boolean;
  /** How many characters the parent has written. */
  written = 0;

  constructor(lean: boolean) {
    this.lean = lean;
    this.pipe.write = (line: unknown) => {
      this.written += String(line).length;
      const message: ParentMessage = JSON.parse(String(line));
      this.received.push(message);
      if (message.type === 'end') queueMicrotask(() => this.exit(0, null));
      return true;
    };
    Object.assign(this.child, {
      pid: 4711,
      ref: () => {},
      kill: (signal: unknown) => this.signals.push(signal),
    });
  }

  started(hasPipe: boolean): SpawnedReaper {
    // The code under test uses no other member of the child.
    return { child: this.child as ChildProcess, pipe: hasPipe ? this.pipe : undefined };
  }

  ready(): void {
    this.pipe.emit('data', serializeMessage({ type: 'ready' }));
  }

  exit(code: number | null, signal: string | null): void {
    this.child.emit('close', code, signal);
  }
}

const PARENT: ParentMessage = { type: 'parent', pid: 1 };
const LEASE: ParentMessage = { type: 'lease', lease: 2, store: 1, owner: 1, ticket: 't', from: 1 };
const STORE: ParentMessage = { type: 'store', store: 1, module: 'm', access: 'a' };

function startScenario({ hasPipe = true, isReading = true } = {}): {
  reaper: ReaperProcess;
  fakes: FakeProcess[];
  events: unknown[];
  listener: { emit: (...event: unknown[]) => void };
} {
  const fakes: FakeProcess[] = [];
  const events: unknown[] = [];
  const start = (lean: boolean): SpawnedReaper => {
    const fake = new FakeProcess(lean);
    if (!isReading) Object.defineProperty(fake.pipe, 'writableLength', { get: () => fake.written });
    fakes.push(fake);
    return fake.started(hasPipe);
  };
  const reaper = new ReaperProcess({ start, parent: PARENT });
  const listener = { emit: (...event: unknown[]) => void events.push(event) };
  reaper.addListener(listener);
  return { reaper, fakes, events, listener };
}

/** Adds a listener. Returns the events that it gets. */
function joinAnother(reaper: ReaperProcess): readonly unknown[] {
  const events: unknown[] = [];
  reaper.addListener({ emit: (...event) => void events.push(event) });
  return events;
}

function at<T>(list: readonly T[], index: number): T {
  return list.at(index) ?? expect.unreachable(`no element ${index}`);
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the reaper process', () => {
  it('gets forgotten leases again after a restart, while a bound group may depend on them', () => {
    const { reaper, fakes } = startScenario();
    const gone: readonly ParentMessage[] = [
      { type: 'renewed', lease: 2, safeUntil: 10, wallSafeUntil: 10, overBy: 20 },
      { type: 'ended', lease: 2, at: 5 },
    ];
    const group: ParentMessage = { type: 'group', pid: 200, owner: 1, at: 4, wallAt: 4 };
    for (const message of [STORE, LEASE, group, ...gone]) reaper.send(message);
    reaper.send({ type: 'forget', lease: 2 });
    at(fakes, 0).exit(1, null);
    vi.advanceTimersByTime(1_000);
    expect(at(fakes, 1).received).toEqual([PARENT, STORE, LEASE, ...gone, group, { type: 'forget', lease: 2 }]);
    reaper.send({ type: 'release', pid: 200 });
    reaper.send({ ...LEASE, lease: 3 });
    at(fakes, 1).exit(1, null);
    vi.advanceTimersByTime(2_000);
    expect(at(fakes, 2).received).toEqual([PARENT, STORE, { ...LEASE, lease: 3 }]);
  });

  it('is reported with the system’s error if it cannot be started, and started again', () => {
    const { reaper, fakes, events } = startScenario({ hasPipe: false });
    reaper.send(LEASE);
    const error = new Error('spawn EMFILE');
    at(fakes, 0).child.emit('error', error);
    expect(events).toMatchObject([['reaperLost', { error }]]);
    vi.advanceTimersByTime(1_000);
    expect(fakes.length).toBe(2);
  });

  it('is started with the first lease, and gets the parent’s id first', () => {
    const { reaper, fakes } = startScenario();
    reaper.send(STORE);
    expect(fakes).toEqual([]);
    reaper.send(LEASE);
    expect(at(fakes, 0).received).toEqual([PARENT, STORE, LEASE]);
    reaper.send({ type: 'forget', lease: 2 });
    expect(at(fakes, 0).received.at(-1)).toEqual({ type: 'forget', lease: 2 });
  });

  it('is shared by all members, and ends with the last of them', async () => {
    const { reaper, fakes, listener } = startScenario();
    const other = { emit: () => {} };
    reaper.addListener(other);
    reaper.send(LEASE);
    reaper.send({ ...LEASE, lease: 3 });
    expect(fakes.length).toBe(1);
    reaper.send({ type: 'forget', lease: 2 });
    reaper.send({ type: 'forget', lease: 3 });
    await reaper.removeListener(listener);
    expect(at(fakes, 0).received.at(-1)?.type).toBe('forget');
    await reaper.removeListener(other);
    expect(at(fakes, 0).received.at(-1)).toEqual({ type: 'end' });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(fakes.length).toBe(1);
  });

  it('is reported once to a member that joins when the process is ready already', () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    const early = joinAnother(reaper);
    expect(early).toEqual([]);
    at(fakes, 0).ready();
    const late = joinAnother(reaper);
    expect([early, late, events]).toEqual([events, events, [['reaperReady', { pid: 4711 }]]]);
  });

  it('is reported as lost to a member that joins before the next process is ready', async () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).exit(1, null);
    await vi.advanceTimersByTimeAsync(1_000);
    const late = joinAnother(reaper);
    expect(late).toEqual([['reaperLost', { code: 1, signal: null, nextInMs: 1_000 }]]);
    at(fakes, 1).ready();
    expect(late.slice(1)).toEqual(events.slice(1));
    expect(joinAnother(reaper)).toEqual([['reaperReady', { pid: 4711 }]]);
  });

  it('is reported as refused to every member that joins later', async () => {
    const { reaper, fakes, listener } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).pipe.emit('data', serializeMessage({ type: 'refused', why: 'so' }));
    at(fakes, 0).exit(0, null);
    reaper.send({ type: 'forget', lease: 2 });
    await reaper.removeListener(listener);
    expect(joinAnother(reaper)).toEqual([['reaperLost', { why: 'so' }]]);
  });

  it('is not reported as lost to a member that joins after the members that had lost it', async () => {
    const { reaper, fakes, listener } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).exit(1, null);
    reaper.send({ type: 'forget', lease: 2 });
    await reaper.removeListener(listener);
    const next = joinAnother(reaper);
    reaper.send(LEASE);
    expect(next).toEqual([]);
    at(fakes, 1).exit(1, null);
    expect(next).toMatchObject([['reaperLost', { code: 1 }]]);
  });

  it('stays after the last member while a group is bound', async () => {
    const { reaper, fakes, listener } = startScenario();
    reaper.send({ type: 'group', pid: 9, owner: 1, at: 1, wallAt: 1 });
    await reaper.removeListener(listener);
    expect(at(fakes, 0).received.at(-1)?.type).toBe('group');
    reaper.send({ type: 'release', pid: 9 });
    expect(at(fakes, 0).received.at(-1)).toEqual({ type: 'end' });
  });

  it('is killed if it does not end within its time limit', async () => {
    const { reaper, fakes, listener } = startScenario();
    reaper.send(LEASE);
    reaper.send({ type: 'forget', lease: 2 });
    const fake = at(fakes, 0);
    fake.pipe.write = () => true;
    const gone = reaper.removeListener(listener);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(fake.signals).toEqual(['SIGKILL']);
    fake.exit(null, 'SIGKILL');
    await gone;
  });

  it('is replaced when it dies, after 1 s, doubled each time up to a minute, and gets all messages again', async () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(STORE);
    reaper.send(LEASE);
    reaper.send({ type: 'renewed', lease: 2, safeUntil: 1, wallSafeUntil: 1, overBy: 2 });
    reaper.send({ type: 'renewed', lease: 2, safeUntil: 8, wallSafeUntil: 8, overBy: 9 });
    at(fakes, 0).ready();
    const waits: number[] = [];
    for (let turn = 1; turn <= 9; turn += 1) {
      at(fakes, -1).exit(null, 'SIGKILL');
      const from = performance.now();
      while (fakes.length === turn) await vi.advanceTimersByTimeAsync(100);
      waits.push(performance.now() - from);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(at(fakes, -1).received).toEqual([
      PARENT,
      STORE,
      LEASE,
      { type: 'renewed', lease: 2, safeUntil: 8, wallSafeUntil: 8, overBy: 9 },
    ]);
    // The loss is reported once, as no other process was ready since.
    expect(events.map((event) => JSON.stringify(event))).toEqual([
      '["reaperReady",{"pid":4711}]',
      '["reaperLost",{"code":null,"signal":"SIGKILL","nextInMs":1000}]',
    ]);
    at(fakes, -1).ready();
    at(fakes, -1).exit(1, null);
    expect(events.length).toBe(4);
  });

  it('is not replaced when it has nothing left to do', async () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    reaper.send({ type: 'forget', lease: 2 });
    at(fakes, 0).exit(null, 'SIGKILL');
    await vi.advanceTimersByTimeAsync(100_000);
    expect(fakes.length).toBe(1);
    expect(events).toEqual([]);
    reaper.send(LEASE);
    expect(fakes.length).toBe(2);
  });

  it('is started without V8 options after one that ended before it was ready', async () => {
    const { reaper, fakes } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).exit(9, null);
    await vi.advanceTimersByTimeAsync(1_000);
    at(fakes, 1).ready();
    at(fakes, 1).exit(null, 'SIGKILL');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(fakes.map(({ lean }) => lean)).toEqual([true, false, true]);
  });

  it('is not replaced after it refused', async () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).pipe.emit('data', serializeMessage({ type: 'refused', why: 'so' }));
    at(fakes, 0).exit(0, null);
    await vi.advanceTimersByTimeAsync(100_000);
    reaper.send({ ...LEASE, lease: 3 });
    expect(fakes.length).toBe(1);
    expect(events).toEqual([['reaperLost', { why: 'so' }]]);
  });

  it('is killed when its pipe breaks, as its messages are outdated then', () => {
    const { reaper, fakes } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).pipe.emit('error', new Error('EBADF'));
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
  });

  it('may be of a newer version, and send messages of unknown types', () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).pipe.emit('data', '{"type":"revoked","lease":2}\n');
    at(fakes, 0).ready();
    expect(at(fakes, 0).signals).toEqual([]);
    expect(events).toEqual([['reaperReady', { pid: 4711 }]]);
  });

  it.each(['Segmentation fault\n', '{"type":"refused"}\n', 'null\n'])('is killed when it sends garbage: %j', (garbage) => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).pipe.emit('data', garbage);
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
    at(fakes, 0).exit(null, 'SIGKILL');
    expect(events).toEqual([['reaperLost', { code: null, signal: 'SIGKILL', nextInMs: 1_000 }]]);
  });

  it('is killed when it leaves more than a mebibyte unread', () => {
    const { reaper, fakes } = startScenario();
    reaper.send(LEASE);
    at(fakes, 0).ready();
    Object.defineProperty(at(fakes, 0).pipe, 'writableLength', { value: 2_000_000 });
    reaper.send({ type: 'forget', lease: 2 });
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
  });

  it('may leave more unread until it is ready, as with the stores of many members', () => {
    const { reaper, fakes } = startScenario();
    reaper.send(LEASE);
    const fake = at(fakes, 0);
    let unread = 4_000_000;
    Object.defineProperty(fake.pipe, 'writableLength', { get: () => unread });
    reaper.send(STORE);
    fake.ready();
    reaper.send(STORE);
    unread = 5_000_000;
    reaper.send(STORE);
    expect(fake.signals).toEqual([]);
    unread = 5_100_000;
    reaper.send(STORE);
    expect(fake.signals).toEqual(['SIGKILL']);
  });

  it('gets all messages again before it is ready, however many they are', () => {
    const { reaper, fakes } = startScenario({ isReading: false });
    for (let store = 1; store <= 300; store += 1) reaper.send({ ...STORE, store, access: 'x'.repeat(10_000) });
    reaper.send(LEASE);
    expect([at(fakes, 0).received.length, at(fakes, 0).signals]).toEqual([302, []]);
  });

  it('is killed, and reported as lost, if it is not ready within 30 s', async () => {
    const { reaper, fakes, events } = startScenario();
    reaper.send(LEASE);
    vi.advanceTimersByTime(29_999);
    await setImmediate();
    expect(at(fakes, 0).signals).toEqual([]);
    vi.advanceTimersByTime(1);
    await setImmediate();
    expect(at(fakes, 0).signals).toEqual(['SIGKILL']);
    at(fakes, 0).exit(null, 'SIGKILL');
    expect(events).toEqual([['reaperLost', { code: null, signal: 'SIGKILL', nextInMs: 1_000 }]]);
    vi.advanceTimersByTime(1_000);
    vi.advanceTimersByTime(30_000);
    // As after a block of the event loop, in which the message arrived.
    at(fakes, 1).ready();
    await setImmediate();
    expect(at(fakes, 1).signals).toEqual([]);
  });

  it('is started again if spawn throws', async () => {
    const events: unknown[] = [];
    let tries = 0;
    const start = (): SpawnedReaper => {
      tries += 1;
      throw new Error('EAGAIN');
    };
    const reaper = new ReaperProcess({ start, parent: PARENT });
    reaper.addListener({ emit: (...event) => void events.push(event) });
    reaper.send(LEASE);
    expect(events).toEqual([['reaperLost', { error: new Error('EAGAIN'), nextInMs: 1_000 }]]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(tries).toBe(3);
    expect(events.length).toBe(1);
  });
});
