import { ManualClock, MemoryServer, type MemoryServerOptions } from '@incumbent/memory';
import { expectNothingLeft } from '@incumbent/test-support/nothing-left';
import { describe, expect, it } from 'vitest';

import { Fence, Member, withLock, type Lock, type LockOptions } from '../src/index.ts';

const KEY = 'orders';
const LEADER = `elections/${KEY}/leader`;
const TTL_MS = 6_000;
/** A signal that the runner of the tests does not listen to. */
const STOP = 'SIGUSR2';

/** A server on a manual clock, and what uses its locks. */
class Scene {
  readonly clock = new ManualClock();
  readonly server: MemoryServer;

  constructor(options: MemoryServerOptions = {}) {
    this.server = new MemoryServer({ ...options, clock: this.clock });
  }

  withLock<T>(work: (lock: Lock) => Promise<T> | T, options: LockOptions = {}): Promise<T> {
    const locked = withLock(this.server.connect(), KEY, work, { clock: this.clock, ttlMs: TTL_MS, ...options });
    locked.catch(() => {});
    return locked;
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return this.clock.run(promise);
  }

  after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.schedule(ms, resolve);
    });
  }

  /** Checks that no timer, watch, lease or key is left, except the keys of the terms. */
  expectNothingLeft(): void {
    expectNothingLeft(this);
  }
}

/** Work that runs until its lock is lost. */
function untilLost({ signal }: Lock): Promise<string> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
}

describe('withLock', () => {
  it('runs the work with the lock, releases it, and resolves with what the work returns', async () => {
    const scene = new Scene();
    const locked = scene.withLock((lock) => {
      lock.assertValid();
      return { term: lock.term, aborted: lock.signal.aborted, valid: lock.isValid(), held: scene.server.keys().includes(LEADER) };
    });
    expect(await scene.run(locked)).toEqual({ term: 1n, aborted: false, valid: true, held: true });
    scene.expectNothingLeft();
  });

  it('keeps everybody else out, also within one process, and gives each holder a higher term', async () => {
    const scene = new Scene();
    let inside = 0;
    const terms: bigint[] = [];
    const store = scene.server.connect();
    const fence = new Fence();
    const work = async ({ term }: Lock): Promise<void> => {
      inside += 1;
      expect(inside).toBe(1);
      fence.admit(term);
      terms.push(term);
      await scene.after(3 * TTL_MS);
      inside -= 1;
    };
    const all = Array.from({ length: 4 }, () => withLock(store, KEY, work, { clock: scene.clock, ttlMs: TTL_MS }));
    await scene.run(Promise.all(all));
    expect(terms).toEqual([1n, 2n, 3n, 4n]);
    await store.close();
    scene.expectNothingLeft();
  });

  it('excludes a leader of the election with its name', async () => {
    const scene = new Scene();
    const member = new Member(scene.server.connect(), { clock: scene.clock, ttlMs: TTL_MS });
    const leadership = await scene.run(member.election(KEY).campaign());
    const locked = scene.withLock(({ term }) => term);
    await scene.clock.advance(2 * TTL_MS);
    await scene.run(leadership.resign());
    expect(await scene.run(locked)).toBe(2n);
    await scene.run(member.close());
    scene.expectNothingLeft();
  });

  it('rejects with what the work throws, and releases the lock', async () => {
    const scene = new Scene();
    const failure = new Error('the work failed');
    await expect(
      scene.run(
        scene.withLock(() => {
          throw failure;
        }),
      ),
    ).rejects.toBe(failure);
    scene.expectNothingLeft();
  });

  it.each(['its lease expires', 'somebody deletes its record'])(
    'rejects when %s, once the work has stopped, and calls the work once',
    async (how) => {
      const scene = new Scene();
      const reasons: unknown[] = [];
      const locked = scene.withLock(async (lock) => {
        await untilLost(lock);
        reasons.push(lock.signal.reason, lock.isValid());
        await scene.after(100);
        reasons.push('stopped');
      });
      await scene.clock.advance(100);
      if (how === 'its lease expires') for (const { id } of scene.server.leases()) scene.server.expireLease(id);
      else scene.server.deleteKey(LEADER);
      await expect(scene.run(locked)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED', details: { lost: true, term: 1n } });
      expect(reasons).toMatchObject([{ code: 'LEADERSHIP_ENDED' }, false, 'stopped']);
      await scene.clock.advance(2 * TTL_MS);
      expect(reasons).toHaveLength(3);
      scene.expectNothingLeft();
    },
  );

  it('refuses the write of a former holder that does not know of its loss', async () => {
    const scene = new Scene();
    const store = scene.server.connect();
    const written: unknown[] = [];
    const stale = withLock(
      store,
      KEY,
      async (lock) => {
        await scene.after(100);
        // Another process holds the lock by now, although nothing has told this one.
        written.push(
          await store.compareAndSwap([lock.guard(), { key: 'app/state', expect: null, put: new Uint8Array(1) }], { timeoutMs: 500 }),
        );
      },
      { clock: scene.clock, ttlMs: TTL_MS },
    );
    stale.catch(() => {});
    await scene.clock.advance(50);
    store.link.stallWatches();
    for (const { id } of scene.server.leases()) scene.server.expireLease(id);
    await scene.run(scene.withLock(() => {}));
    await scene.clock.advance(100);
    expect(written).toMatchObject([{ swapped: false }]);
    await scene.run(stale.catch(() => {}));
  });

  it('at an abort aborts the signal of the work, waits for the work, releases the lock, and rejects with the reason', async () => {
    const scene = new Scene();
    const caller = new AbortController();
    let stopped = false;
    const locked = scene.withLock(
      async (lock) => {
        await untilLost(lock);
        await scene.after(100);
        stopped = scene.server.keys().includes(LEADER);
      },
      { signal: caller.signal },
    );
    await scene.clock.advance(50);
    caller.abort(new Error('enough'));
    await expect(scene.run(locked)).rejects.toThrow('enough');
    expect(stopped).toBe(true);
    scene.expectNothingLeft();
  });

  it.each(['holds the lock', 'waits for the lock'])('at a signal of `stopOn` stops as at an abort if it %s', async (when) => {
    const scene = new Scene();
    const work: string[] = [];
    const other = when === 'waits for the lock' ? scene.withLock(() => scene.after(5_000)) : undefined;
    await scene.clock.advance(50);
    const locked = scene.withLock(
      async (lock) => {
        await untilLost(lock);
        await scene.after(100);
        work.push(scene.server.keys().includes(LEADER) ? 'stopped with the lock' : 'stopped without it');
        return 'done';
      },
      { stopOn: [STOP] },
    );
    await scene.clock.advance(50);
    process.emit(STOP, STOP);
    await expect(scene.run(locked)).rejects.toMatchObject({ name: 'AbortError', message: 'the process was asked to stop' });
    expect(work).toEqual(other === undefined ? ['stopped with the lock'] : []);
    await scene.clock.advance(500);
    expect(process.listenerCount(STOP)).toBe(0);
    if (other !== undefined) await scene.run(other);
    scene.expectNothingLeft();
  });

  it('listens to no signal without `stopOn`, and to none of `stopOn` once the work has ended', async () => {
    const scene = new Scene();
    const during = (): number => process.listenerCount(STOP);
    expect(await scene.run(scene.withLock(() => process.listenerCount('SIGTERM')))).toBe(process.listenerCount('SIGTERM'));
    expect(await scene.run(scene.withLock(during, { stopOn: [STOP] }))).toBe(1);
    expect(during()).toBe(0);
    scene.expectNothingLeft();
  });

  it('gives up after `acquireTimeoutMs`, which does not limit the work', async () => {
    const scene = new Scene();
    const first = scene.withLock(() => scene.after(5_000), { acquireTimeoutMs: 1_000 });
    await scene.clock.advance(100);
    const startedMs = scene.clock.monotonic();
    const second = scene.withLock(() => 'never', { acquireTimeoutMs: 1_000 });
    await expect(scene.run(second)).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'the lock "orders" was not free within 1000 ms',
    });
    expect(scene.clock.monotonic() - startedMs).toBeGreaterThanOrEqual(1_000);
    await scene.run(first);
    scene.expectNothingLeft();
  });

  it('sends a fixed number of requests', async () => {
    const scene = new Scene();
    await scene.run(scene.withLock(() => {}));
    const before = scene.server.requests;
    await scene.run(scene.withLock(() => {}));
    const after = scene.server.requests;
    const spent = { grantLease: 1, compareAndSwap: 3, enqueue: 1, list: 1, read: 1, revokeLease: 1, renewLease: 0 };
    for (const [operation, calls] of Object.entries(spent))
      expect([operation, Reflect.get(after, operation) - Reflect.get(before, operation)]).toEqual([operation, calls]);
  });

  it.each([
    ['user:42', 'key is "user:42": it must be 1 to 128 characters of A-Z a-z 0-9 . _ -'],
    ['', 'key is "": it must be 1 to 128 characters'],
    ['a/b', 'key is "a/b": it must be 1 to 128 characters'],
    [['a', 'b'], 'key is an array of 2: it must be 1 to 128 characters'],
  ])('refuses the key %j', async (key, message) => {
    const refused: Promise<unknown> = Reflect.apply(withLock, undefined, [new Scene().server.connect(), key, () => {}]);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_NAME', message: expect.stringContaining(message) });
  });

  it.each([
    ['no function', 5, {}],
    ['a duration as redlock takes it', 5_000, {}],
    ['an unknown option', () => {}, { ttl: 5 }],
    ['a member id, as each lock has a member of its own', () => {}, { memberId: 'a' }],
    ['no wait', () => {}, { acquireTimeoutMs: 0 }],
    ['a wrong signal', () => {}, { signal: 5 }],
    ['a signal of the system alone', () => {}, { stopOn: STOP }],
    ['the name of no signal', () => {}, { stopOn: ['sigterm'] }],
  ])('refuses %s', async (_, work, options) => {
    const scene = new Scene();
    const refused: Promise<unknown> = Reflect.apply(withLock, undefined, [scene.server.connect(), KEY, work, options]);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    scene.expectNothingLeft();
  });

  it('refuses a weak store, unless the caller accepts it by name', async () => {
    const scene = new Scene({ linearizable: false });
    await expect(scene.run(scene.withLock(() => {}))).rejects.toMatchObject({ code: 'WEAK_STORE' });
    expect(await scene.run(scene.withLock(() => 'done', { acceptWeakStore: 'memory' }))).toBe('done');
    scene.expectNothingLeft();
  });
});
