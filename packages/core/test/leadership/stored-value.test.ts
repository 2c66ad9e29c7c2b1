import diagnosticsChannel from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { StoredValue, StandardSchema, ValueCodec, ValueOptions } from '../../src/index.ts';
import { behind, bytes, led, type Led } from '../support/led.ts';
import { denied, relay, timeout } from '../support/relay.ts';
import { track } from '../support/track.ts';
import { LEADER, TERM, World } from '../support/world.ts';

const KEY = 'work/count';

interface Count {
  readonly n: number;
}

const plusOne = (count: Count = { n: 0 }): Count => ({ n: count.n + 1 });

/** A leader whose swaps of the key begin with `before`, which may throw instead of the store. */
async function ledWith(before: (nth: number, world: World) => void): Promise<Pick<Led, 'world' | 'leadership'>> {
  const world = new World();
  const store = world.connect();
  let swaps = 0;
  const member = world.member(
    'a',
    {},
    relay(store, {
      compareAndSwap: async (changes, options) => {
        if (changes.some(({ key }) => key === KEY)) {
          swaps += 1;
          before(swaps, world);
        }
        return store.compareAndSwap(changes, options);
      },
    }),
  );
  return { world, leadership: await world.elect(member) };
}

describe('a stored value', () => {
  it('is undefined, then the value that was put or made by an update', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    expect(await world.run(count.get())).toBeUndefined();
    await world.run(count.put({ n: 1 }));
    expect(await world.run(count.update(plusOne))).toEqual({ n: 2 });
    expect([await world.run(count.get()), world.json(KEY)]).toEqual([{ n: 2 }, { n: 2 }]);
  });

  it('is found by the next leader', async () => {
    const { world, leadership } = await led();
    const next = await behind(world, 'b');
    await world.run(leadership.stored<Count>(KEY).put({ n: 7 }));
    await world.run(leadership.resign());
    await world.until(() => next.value !== undefined);
    expect(await world.run(next.value?.stored<Count>(KEY).get() ?? Promise.reject(new Error('nobody leads')))).toEqual({ n: 7 });
  });

  it('costs an update one read and one swap', async () => {
    const { world, leadership } = await led();
    const before = world.server.requests;
    await world.run(leadership.stored<Count>(KEY).update(plusOne));
    const { compareAndSwap, read } = world.server.requests;
    expect([compareAndSwap - before.compareAndSwap, read - before.read]).toEqual([1, 1]);
  });

  it('has the type that is given or that `parse` returns; an update is undefined only if its function may be', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored(KEY, {
      parse: (value: unknown): Count => (value instanceof Object && 'n' in value ? { n: 1 } : { n: 0 }),
    });
    const made: Count = await world.run(count.update(plusOne));
    const mayBeMade: Promise<Count | undefined> = count.update((present) => (present === undefined ? { n: 9 } : undefined));
    expect([made, await world.run(mayBeMade)]).toEqual([{ n: 1 }, undefined]);
  });

  it('is not written if the update returns undefined', async () => {
    const { world, leadership } = await led();
    const before = world.server.requests.compareAndSwap;
    expect(await world.run(leadership.stored<Count>(KEY).update(() => undefined))).toBeUndefined();
    expect(world.server.requests.compareAndSwap).toBe(before);
  });

  it('counts every update, although two objects for one key update it at once', async () => {
    const { world, leadership } = await led();
    await world.run(Promise.all(Array.from({ length: 10 }, () => leadership.stored<Count>(KEY).update(plusOne))));
    expect(world.json(KEY)).toEqual({ n: 10 });
  });

  it('takes an update that is asynchronous, and passes on what it throws', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    expect(await world.run(count.update(async (present) => plusOne(present)))).toEqual({ n: 1 });
    const fails = (): Count => {
      throw new Error('no');
    };
    await expect(world.run(count.update(fails))).rejects.toThrow('no');
    expect(await world.run(count.update(plusOne))).toEqual({ n: 2 });
  });
});

describe('an update of a stored value that is aborted', () => {
  it('lets the next write go first, and writes nothing later', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    const [caller, slow] = [new AbortController(), Promise.withResolvers<Count>()];
    const update = track(count.update(() => slow.promise, { signal: caller.signal }));
    const next = track(count.put({ n: 2 }));
    await world.pass(1_000);
    expect([update.state, next.state]).toEqual(['pending', 'pending']);
    caller.abort(new Error('too slow'));
    await world.pass(100);
    expect([update.error, next.state]).toMatchObject([{ message: 'too slow' }, 'resolved']);
    slow.resolve({ n: 1 });
    await world.pass(1_000);
    expect(world.json(KEY)).toEqual({ n: 2 });
  });

  it('while it waits for its turn lets the writes after it wait as long as before', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    const [caller, slow] = [new AbortController(), Promise.withResolvers<Count>()];
    const first = track(count.update(() => slow.promise));
    const waiting = track(count.update(plusOne, { signal: caller.signal }));
    const last = track(count.update(plusOne));
    caller.abort(new Error('too slow'));
    await world.pass(1_000);
    expect([first.state, waiting.state, last.state]).toEqual(['pending', 'rejected', 'pending']);
    slow.resolve({ n: 1 });
    await world.pass(100);
    expect([first.value, last.value]).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

describe('the key and the bytes of a stored value', () => {
  it.each([LEADER, TERM, 'members/a', 'groups/g/a', '', '/a', 'a b'])('keep off keys of the SDK and malformed ones: %j', async (key) => {
    const { leadership } = await led();
    expect(() => leadership.stored(key)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  const asIs: ValueCodec<Uint8Array> = { encode: (value) => value, decode: (value) => value };
  it.each<[string, object]>([
    ['an unknown option', { schema: 1 }],
    ['a parse beside a codec', { parse: (value: unknown) => value, codec: asIs }],
    ['a codec without functions', { codec: {} }],
  ])('refuse wrong options: %s', async (_, options) => {
    const { leadership } = await led();
    expect(() => leadership.stored(KEY, options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('may be bytes, with a codec', async () => {
    const { world, leadership } = await led();
    const count = leadership.stored(KEY, { codec: asIs });
    await world.run(count.put(bytes('x')));
    expect([await world.run(count.get()), world.entry(KEY)?.value]).toEqual([bytes('x'), bytes('x')]);
  });

  it.each([undefined, 1n, () => 1])('refuse what JSON cannot hold, before any request: %s', async (value) => {
    const { world, leadership } = await led();
    const before = world.server.requests.read;
    await expect(world.run(leadership.stored<unknown>(KEY).put(value))).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(world.server.requests.read).toBe(before);
  });

  it('fail with the same error as a swap if the value is too large', async () => {
    const { world, leadership } = await led({ maxValueBytes: 1_000 });
    const put = leadership.stored(KEY).put('x'.repeat(1_001));
    await expect(world.run(put)).rejects.toMatchObject({ code: 'TOO_LARGE', outcome: 'refused' });
  });

  const isCount: StandardSchema<Count> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (typeof value === 'object' && value !== null && 'n' in value ? { value } : { issues: [{ message: 'no n' }] }),
    },
  };
  it.each<[string, string, ValueOptions<Count>]>([
    ['no JSON', 'secret{', {}],
    ['what the schema refuses', '"secret"', { parse: isCount }],
    [
      'what the codec refuses',
      'secret',
      {
        codec: {
          encode: () => new Uint8Array(),
          decode: () => {
            throw new Error('odd');
          },
        },
      },
    ],
  ])('are FOREIGN_DATA, which names the key and hides the value, for %s; a put overwrites it', async (_, text, options) => {
    const { world, leadership } = await led();
    world.put(KEY, text);
    const count = leadership.stored<Count>(KEY, options);
    for (const call of [() => count.get(), () => count.update(plusOne)]) {
      const { error } = await settled(world, call());
      expect(error).toMatchObject({ code: 'FOREIGN_DATA', details: { key: KEY }, message: expect.stringContaining(KEY) });
      expect(String(error) + String(error instanceof Error ? error.cause : '')).not.toContain('secret');
    }
    await world.run(count.put({ n: 1 }));
    expect(text).not.toBe(new TextDecoder().decode(world.entry(KEY)?.value));
  });
});

describe('a write of a stored value whose answer is lost', () => {
  it.each(['timeout', 'reset'] as const)('has taken place once (%s)', async (how) => {
    const { world, store, leadership } = await led();
    store.link.dropReplies(2, { operations: ['compareAndSwap'], how });
    expect(await world.run(leadership.stored<Count>(KEY).update(plusOne))).toEqual({ n: 1 });
    expect(world.json(KEY)).toEqual({ n: 1 });
  });

  it('is made if it never arrived', async () => {
    const { world, store, leadership } = await led();
    store.link.dropRequests(2, { operations: ['compareAndSwap'], how: 'reset' });
    expect(await world.run(leadership.stored<Count>(KEY).update(plusOne))).toEqual({ n: 1 });
    expect(world.json(KEY)).toEqual({ n: 1 });
  });

  it('has no effect when it arrives late, after later writes', async () => {
    const { world, store, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    store.link.holdWrites('compareAndSwap');
    const update = track(count.update(plusOne));
    await world.until(() => world.events.all.some(({ fields }) => fields['doing'] === 'storedValue'));
    store.link.release();
    await world.until(() => update.state === 'resolved');
    expect(await world.run(count.update(plusOne))).toEqual({ n: 2 });
    expect(world.json(KEY)).toEqual({ n: 2 });
  });

  it('is CONFLICT with the outcome unknown if another program has changed the key meanwhile', async () => {
    const { world, leadership } = await ledWith((nth, inWorld) => {
      if (nth !== 1) return;
      inWorld.put(KEY, { n: 5 });
      throw timeout();
    });
    const { error } = await settled(world, leadership.stored<Count>(KEY).update(plusOne));
    expect(error).toMatchObject({ code: 'CONFLICT', outcome: 'unknown', details: { key: KEY }, cause: { code: 'TIMEOUT' } });
    expect([world.json(KEY), leadership.isValid()]).toEqual([{ n: 5 }, true]);
  });

  it('counts as made if another program has written exactly its bytes meanwhile', async () => {
    const { world, leadership } = await ledWith((nth, inWorld) => {
      if (nth !== 1) return;
      inWorld.put(KEY, { n: 1 });
      throw timeout();
    });
    expect(await world.run(leadership.stored<Count>(KEY).update(plusOne))).toEqual({ n: 1 });
  });

  it('says so if a later try is refused', async () => {
    const { world, leadership } = await ledWith((nth) => {
      throw nth === 1 ? timeout() : denied();
    });
    const { error } = await settled(world, leadership.stored<Count>(KEY).update(plusOne));
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
  });
});

describe('a write of a stored value that another program interferes with', () => {
  it('is computed again from the new value', async () => {
    const seen: (number | undefined)[] = [];
    const { world, leadership } = await ledWith((nth, inWorld) => {
      if (nth <= 3) inWorld.put(KEY, { n: nth * 10 });
    });
    const update = leadership.stored<Count>(KEY).update((count) => {
      seen.push(count?.n);
      return plusOne(count);
    });
    expect(await world.run(update)).toEqual({ n: 31 });
    expect([seen, world.json(KEY)]).toEqual([[undefined, 10, 20, 30], { n: 31 }]);
  });

  it('is CONFLICT with the outcome refused after 20 tries', async () => {
    const { world, leadership } = await ledWith((nth, inWorld) => inWorld.put(KEY, { n: nth * 10 }));
    const { error } = await settled(world, leadership.stored<Count>(KEY).put({ n: 1 }));
    expect(error).toMatchObject({ code: 'CONFLICT', outcome: 'refused', details: { key: KEY } });
    expect([world.json(KEY), leadership.isValid()]).toEqual([{ n: 200 }, true]);
  });
});

describe('a stored value, when the leadership ends,', () => {
  it.each(['get', 'put', 'update'] as const)('asks nothing more of the store: %s', async (method) => {
    const { world, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    await world.run(leadership.resign());
    const before = world.server.requests;
    const { error } = await settled(world, callOf(count, method));
    expect(error).toMatchObject({ code: 'LEADERSHIP_ENDED', details: { reason: 'resigned' } });
    expect([world.server.requests.read, world.server.requests.compareAndSwap]).toEqual([before.read, before.compareAndSwap]);
  });

  it.each(['get', 'put', 'update'] as const)('stops at once in the middle of a call, and in a wait: %s', async (method) => {
    const { world, store, leadership } = await led();
    const calls = [track(callOf(leadership.stored<Count>(KEY), method)), track(callOf(leadership.stored<Count>(KEY), method))];
    store.link.cutOff();
    await world.pass(10);
    const resigned = leadership.resign();
    await world.pass();
    for (const { error } of calls) expect(error).toMatchObject({ code: 'LEADERSHIP_ENDED', details: { reason: 'resigned' } });
    store.link.heal();
    await world.run(resigned);
  });

  it('is not written once another member has the term, although isValid() is still true', async () => {
    const { world, leadership } = await led();
    world.put(TERM, { v: 1, term: '9', memberId: 'x', incarnation: 'i', entry: 'e' });
    const { error } = await settled(world, leadership.stored<Count>(KEY).update(plusOne));
    expect(error).toMatchObject({ code: 'LEADERSHIP_ENDED' });
    expect([world.entry(KEY), leadership.isValid()]).toEqual([undefined, false]);
  });
});

describe('a call of a stored value', () => {
  it.each(['get', 'put', 'update'] as const)('ends when its own signal aborts; the next one goes on: %s', async (method) => {
    const { world, store, leadership } = await led();
    const count = leadership.stored<Count>(KEY);
    const stop = new AbortController();
    store.link.stall();
    const first = track(callOf(count, method, stop.signal));
    const second = track(count.update(plusOne));
    await world.pass(1);
    stop.abort(new Error('no'));
    await world.pass();
    expect(first.error).toMatchObject({ message: 'no' });
    store.link.heal();
    await world.until(() => second.state === 'resolved');
    expect(leadership.isValid()).toBe(true);
  });

  it('retries a read that fails, up to 20 times, and reports each retry', async () => {
    const world = new World();
    const store = world.connect();
    let [reads, failures] = [0, 2];
    const broken = relay(store, {
      read: async (key, options) => {
        reads += key === KEY ? 1 : 0;
        if (key === KEY && reads <= failures) throw timeout();
        return store.read(key, options);
      },
    });
    const count = (await world.elect(world.member('a', {}, broken))).stored<Count>(KEY);
    const retries: unknown[] = [];
    const note = (message: unknown): unknown => retries.push(message);
    diagnosticsChannel.subscribe('incumbent:retry', note);
    expect(await world.run(count.update(plusOne))).toEqual({ n: 1 });
    diagnosticsChannel.unsubscribe('incumbent:retry', note);
    expect(retries).toMatchObject([{ doing: 'storedValue' }, { doing: 'storedValue' }]);
    expect(world.events.about('tried again')).toMatchObject([{ doing: 'storedValue' }]);
    [reads, failures] = [0, Infinity];
    expect(await settled(world, count.get())).toMatchObject({ error: { code: 'TIMEOUT' } });
    expect(reads).toBe(20);
  });

  it('does not retry what a retry cannot solve', async () => {
    const { world, leadership } = await ledWith(() => {
      throw denied();
    });
    const before = world.server.requests.compareAndSwap;
    expect(await settled(world, leadership.stored<Count>(KEY).put({ n: 1 }))).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(world.server.requests.compareAndSwap).toBe(before);
  });
});

function callOf(count: StoredValue<Count>, method: 'get' | 'put' | 'update', signal?: AbortSignal): Promise<unknown> {
  const options = signal === undefined ? {} : { signal };
  if (method === 'get') return count.get(options);
  return method === 'put' ? count.put({ n: 1 }, options) : count.update(plusOne, options);
}

async function settled(world: World, promise: Promise<unknown>): Promise<{ readonly error?: unknown }> {
  const tracked = track(promise);
  await world.until(() => tracked.state !== 'pending');
  return tracked;
}
