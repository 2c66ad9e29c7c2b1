/** How soon a watch shows that the process that held a watched key has died. */

import { describe, expect, it, vi } from 'vitest';

import { Code, sqliteError } from './faulty-disk.ts';
import { pass } from './manual-time.ts';
import { put, usePair } from './pair.ts';
import { LEASE_CALL } from './rig.ts';

vi.mock('../src/host/log-watcher.ts', () => import('./fake-log-watcher.ts'));

const pair = usePair({ space: 'here' });

describe('the death of a process', () => {
  /** What a process of this host would have left: a lease that holds a key. */
  function leave(pid: number, key: string): void {
    const at = pair().rig.nowUs + 86_400e6;
    const raw = pair().rig.raw();
    raw.prepare(`INSERT INTO leases VALUES (?, 86400000000, ?, 'machine one', 'boot one', 'here', ?, '1')`).run(`lease of ${pid}`, at, pid);
    raw.exec('UPDATE store SET revision = revision + 1');
    raw.prepare(`INSERT INTO keys SELECT ?, x'', revision, revision, ? FROM store`).run(`incumbent/${key}`, `lease of ${pid}`);
    raw.close();
  }

  /** No process has these ids. */
  const DEAD = [2 ** 31 - 2, 2 ** 31 - 3];

  it('that holds a watched key is shown at once, and its keys go with it', async () => {
    leave(DEAD[0] ?? 0, 'a');
    const watch = pair().follow((options) => pair().store.watch('a', options));
    await pass(20);
    expect(watch.states.map((entry) => entry?.name)).toEqual(['a', undefined]);
    expect(pair().rig.ask('SELECT (SELECT count(*) FROM keys) + (SELECT count(*) FROM leases)')).toBe(0);
  });

  it('is not noticed where its keys are not watched, until a lease is granted', async () => {
    leave(DEAD[0] ?? 0, 'a');
    await pair().watch('b');
    await pass(1_000);
    expect(pair().rig.ask('SELECT count(*) FROM keys')).toBe(1);
    await pair().store.grantLease(1_000, LEASE_CALL);
    expect(pair().rig.ask('SELECT count(*) FROM keys')).toBe(0);
  });

  it('cannot be seen from another pid namespace, nor where processes cannot be seen', async () => {
    leave(DEAD[0] ?? 0, 'a');
    for (const space of [{ space: 'there' }, {}]) {
      const blind = await pair().rig.open({ host: pair().rig.host(space) });
      const watch = pair().follow((options) => blind.watch('a', options));
      await blind.grantLease(1_000, LEASE_CALL);
      await pass(200);
      expect(watch.states.length).toBe(1);
    }
  });

  it('is found by checking four processes per poll, however many hold watched keys', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    for (let index = 0; index < 30; index += 1) leave(10_000_000 + index, `q/${index}`);
    await pair().watchList('q');
    kill.mockClear();
    await pass(10);
    expect(kill.mock.calls.length).toBe(4);
    await pass(70);
    expect(new Set(kill.mock.calls.map(([pid]) => pid)).size).toBe(30);
  });

  it('is found in turn, though what is watched changes before every poll', async () => {
    const dead = DEAD[0] ?? 0;
    vi.spyOn(process, 'kill').mockImplementation((pid) => {
      if (pid === dead) throw Object.assign(new Error('no such process'), { code: 'ESRCH' });
      return true;
    });
    for (let index = 0; index < 11; index += 1) leave(10_000_000 + index, `q/${index}`);
    leave(dead, 'q/dead');
    const list = await pair().watchList('q');
    for (let change = 0; change < 5; change += 1) {
      await put(pair().other, 'q/changing', String(change));
      await pass(10);
    }
    expect(list.latest?.length).toBe(12);
    expect(list.latest?.some(({ name }) => name === 'dead')).toBe(false);
  });

  it('never is this store’s own', async () => {
    const kill = vi.spyOn(process, 'kill');
    await pair().own('a');
    await pair().watch('a');
    await pass(500);
    expect(kill).not.toHaveBeenCalled();
  });

  // On a full disk, each write is tried twice.
  it.each([
    ['the disk is full', Code.full, 2],
    ['another process writes', Code.busy, 1],
  ])('is not shown while its lease cannot be deleted (%s), and watches are not stale', async (_why, code, triesPerPoll) => {
    leave(DEAD[0] ?? 0, 'a');
    let tries = 0;
    pair().tap.before = (sql) => {
      if (sql !== 'BEGIN IMMEDIATE') return;
      tries += 1;
      throw sqliteError(code);
    };
    const watch = await pair().watch('a');
    await pass(5_000);
    expect([watch.states.length, watch.stale]).toEqual([1, []]);
    // A poll is every 10 ms.
    expect(tries).toBeLessThanOrEqual(510 * triesPerPoll);
    pair().tap.before = () => {};
    await pass(60);
    expect(watch.latest).toBeUndefined();
  });
});
