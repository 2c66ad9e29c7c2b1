import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type * as fileSystem from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Entry } from '@incumbent/core';
import { Recorder } from '@incumbent/test-support/recorder';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { LogWatcher } from '../src/host/log-watcher.ts';
import { pass, stopTime } from './manual-time.ts';
import { bytes, CALL, Rig, textOf } from './rig.ts';

class FakeWatcher extends EventEmitter {
  isClosed = false;

  close(): void {
    this.isClosed = true;
  }
}

interface Watching {
  readonly path: string;
  readonly options: unknown;
  readonly changed: (event: string) => void;
  readonly watcher: FakeWatcher;
}

/** What the system was asked to watch; `refusal`: it says that it will not. */
const system = vi.hoisted(() => {
  const watches: Watching[] = [];
  return { watches, refusal: undefined as string | undefined };
});

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof fileSystem>()),
  watch: (path: string, options: unknown, changed: (event: string) => void) => {
    if (system.refusal !== undefined) throw Object.assign(new Error(system.refusal), { code: system.refusal });
    const watcher = new FakeWatcher();
    system.watches.push({ path, options, changed, watcher });
    return watcher;
  },
}));

let reported: number;
const count = (): void => void (reported += 1);
const last = (): Watching => system.watches.at(-1) ?? expect.unreachable('nothing is watched');

beforeEach(() => {
  reported = 0;
  system.watches.splice(0);
  system.refusal = undefined;
});

describe('the watcher of the log', () => {
  it('reports each change of the log, and does not keep the process alive', () => {
    const log = new LogWatcher('/data/state.db');
    log.start(count);
    expect(last()).toMatchObject({ path: '/data/state.db-wal', options: { persistent: false } });
    last().changed('change');
    last().changed('change');
    expect(reported).toBe(2);
  });

  it('starts one watch of the file, however often it is started', () => {
    const log = new LogWatcher('/data/state.db');
    log.start(count);
    log.start(count);
    expect(system.watches.length).toBe(1);
  });

  it('stops, and can be started again', () => {
    const log = new LogWatcher('/data/state.db');
    log.start(count);
    const { watcher } = last();
    log.stop();
    log.stop();
    expect(watcher.isClosed).toBe(true);
    log.start(count);
    expect([system.watches.length, last().watcher.isClosed]).toEqual([2, false]);
  });

  it('watches the new log after the log was removed or replaced, which it reports as a change', () => {
    const log = new LogWatcher('/data/state.db');
    log.start(count);
    const { watcher, changed } = last();
    changed('rename');
    expect([watcher.isClosed, reported]).toEqual([true, 1]);
    log.start(count);
    last().changed('change');
    expect([system.watches.length, reported]).toEqual([2, 2]);
  });

  it.each(['ENOSPC', 'EMFILE', 'ENOENT', 'ENOSYS'])(
    'reports nothing if the system refuses the watch (%s), and does not try again',
    (refusal) => {
      system.refusal = refusal;
      const log = new LogWatcher('/data/state.db');
      log.start(count);
      system.refusal = undefined;
      log.start(count);
      log.stop();
      expect([system.watches.length, reported]).toEqual([0, 0]);
    },
  );

  it('reports nothing after the watch has failed, and does not try again', () => {
    const log = new LogWatcher('/data/state.db');
    log.start(count);
    const { watcher } = last();
    watcher.emit('error', new Error('the system’s own'));
    expect(watcher.isClosed).toBe(true);
    log.start(count);
    expect(system.watches.length).toBe(1);
  });
});

describe('a report that is sent', () => {
  it('is a change of the log, which the system reports to whoever watches it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'report-'));
    const path = join(folder, 'state.db');
    writeFileSync(`${path}-wal`, 'a commit');
    const { watch } = await vi.importActual<typeof fileSystem>('node:fs');
    const other = watch(`${path}-wal`);
    const change = once(other, 'change');
    new LogWatcher(path).send();
    expect((await change)[0]).toBe('change');
    other.close();
    rmSync(folder, { recursive: true });
  });

  it('does nothing if there is no log', () => {
    expect(() => new LogWatcher('/data/state.db').send()).not.toThrow();
  });
});

describe('a store whose system sends no reports', () => {
  let rig: Rig;
  beforeEach(() => {
    stopTime();
    rig = new Rig();
    system.refusal = 'ENOSPC';
  });
  afterEach(() => {
    vi.useRealTimers();
    rig[Symbol.dispose]();
  });

  it('shows the changes of others within 10 ms', async () => {
    const [store, other] = [await rig.open(), await rig.open()];
    const watch = new Recorder<Entry | undefined>((options) => store.watch('a', options));
    await pass(2);
    let revision: string | null = null;
    for (const value of ['1', '2', '3']) {
      const swap = await other.compareAndSwap([{ key: 'a', expect: revision, put: bytes(value) }], CALL);
      revision = (swap.swapped ? swap.revisions[0] : undefined) ?? expect.unreachable('not swapped');
      await pass(10);
      expect(textOf(watch.latest)).toBe(value);
    }
    expect([watch.stale, system.watches]).toEqual([[], []]);
    await watch.stop();
  });
});
