/** An HTTP proxy before a real agent that answers with errors of its own, for a while. */

import { isIncumbentError, Member, type Entry, type IncumbentError, type Store } from '@incumbent/core';
import { requireStore, startConsul, uniqueNamespace, until, type ConsulServer } from '@incumbent/test-support';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { startHttpProxy, type Fate, type HttpProxy, type Page } from './http-proxy.ts';

const CALL = { timeoutMs: 3_000 };
const TTL_MS = 10_000;
/**
 * The shortest wait that Consul accepts. The agent may still answer a query that it received before
 * a fault.
 */
const WATCH_WAIT_MS = 1_000;
const VALUE = new Uint8Array([1]);

const PAGES: readonly (readonly [name: string, page: Page])[] = [
  ['500 in plain text', { status: 500, type: 'text/plain', text: 'Internal Server Error' }],
  [
    '502 and a page of HTML',
    {
      status: 502,
      type: 'text/html',
      text: `<html>\n<head><title>502 Bad Gateway</title></head>\n<body>${'<p>The proxy has no answer.</p>\n'.repeat(100)}</body>\n</html>\n`,
    },
  ],
];

describe.runIf(await requireStore({ store: 'consul', own: true }))('a proxy that answers with', { timeout: 60_000 }, () => {
  let consul: ConsulServer;
  let proxy: HttpProxy;
  let fate: Fate;
  /** Connects to the agent. */
  let direct: Store;
  /** Connects through the proxy. */
  let store: Store;

  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());
  beforeEach(async () => {
    const namespace = uniqueNamespace();
    fate = { kind: 'forward' };
    proxy = await startHttpProxy(consul.url, () => fate);
    direct = await openConsul({ endpoint: new URL(consul.url).host, namespace });
    store = await openConsul({ endpoint: proxy.endpoint, namespace, watchWaitMs: WATCH_WAIT_MS });
  });
  afterEach(async () => {
    fate = { kind: 'forward' };
    await Promise.all([store.close(), direct.close()]);
    await proxy[Symbol.asyncDispose]();
  });

  async function failureOf(call: Promise<unknown>): Promise<IncumbentError> {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!isIncumbentError(error)) throw new Error(`the call did not fail with a code: ${String(error)}`);
    return error;
  }

  /** The states of a watch, and the causes of its being stale. */
  function follow(key: string): { readonly states: (Entry | undefined)[]; readonly stale: Error[]; stop(): Promise<void> } {
    const [states, stale]: [(Entry | undefined)[], Error[]] = [[], []];
    const over = new AbortController();
    const watch = store.watch(key, { signal: over.signal, onStale: (cause) => void stale.push(cause) });
    const following = (async () => {
      for await (const state of watch) states.push(state);
    })();
    const stop = (): Promise<void> => {
      over.abort();
      return following;
    };
    return { states, stale, stop };
  }

  describe.each(PAGES)('%s', (_name, page) => {
    const unavailable = { code: 'UNAVAILABLE', outcome: 'unknown' };

    it('fails each call with `UNAVAILABLE`, an unknown outcome, and at most the beginning of the page', async () => {
      const lease = await store.grantLease(TTL_MS, { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } });
      const at = { monotonicMs: performance.now(), wallMs: Date.now() };
      fate = { kind: 'drop', page };
      const calls = [
        store.read('a', CALL),
        store.list('a', CALL),
        store.compareAndSwap([{ key: 'a', expect: null, put: VALUE }], CALL),
        store.enqueue('queue', 'one', VALUE, lease.id, CALL),
        store.grantLease(TTL_MS, { ...CALL, at }),
        store.renewLease(lease.id, { ...CALL, at }),
        store.revokeLease(lease.id, CALL),
      ];
      for (const failure of await Promise.all(calls.map(failureOf))) {
        expect(failure).toMatchObject(unavailable);
        expect(failure.message).toContain(String(page.status));
        expect(failure.message.length).toBeLessThan(400);
      }
      expect(await direct.read('a', CALL)).toBeUndefined();
    });

    it('leaves a swap unknown, whether the agent has applied it or has never seen it', async () => {
      for (const kind of ['drop', 'dropResponse'] as const) {
        fate = { kind, page };
        const swap = store.compareAndSwap([{ key: kind, expect: null, put: VALUE }], CALL);
        expect(await failureOf(swap)).toMatchObject(unavailable);
        fate = { kind: 'forward' };
        expect((await store.read(kind, CALL)) !== undefined, kind).toBe(kind === 'dropResponse');
      }
    });

    it('makes a watch stale, which shows the current state once the proxy forwards again', async () => {
      const watch = follow('watched');
      await until(() => watch.states.length === 1, { what: 'the first state' });
      fate = { kind: 'dropResponse', page };
      await until(() => watch.stale.length > 0, { what: 'the watch to be stale' });
      expect(watch.stale[0]).toMatchObject({ code: 'UNAVAILABLE' });
      await direct.compareAndSwap([{ key: 'watched', expect: null, put: VALUE }], CALL);
      expect(watch.states).toEqual([undefined]);
      fate = { kind: 'forward' };
      await until(() => watch.states.at(-1) !== undefined, { what: 'the change' });
      await watch.stop();
    });

    it('for less than a ttl, does not end the leadership: the session is renewed once the proxy forwards again', async () => {
      await using member = new Member(store, { memberId: 'a', ttlMs: TTL_MS });
      const leadership = await member.election('controller').campaign();
      fate = { kind: 'drop', page };
      await until(() => leadership.state === 'suspect', { what: 'a renewal to be overdue', withinMs: TTL_MS });
      fate = { kind: 'forward' };
      await until(() => leadership.state === 'valid', { what: 'the session to be renewed', withinMs: TTL_MS });
      expect(leadership.isValid()).toBe(true);
      await leadership.resign();
    });

    it('for longer, ends the leadership before the next one begins, and the member is elected again once the proxy forwards', async () => {
      await using a = new Member(store, { memberId: 'a', ttlMs: 2_000 });
      await using b = new Member(direct, { memberId: 'b', ttlMs: 2_000 });
      const first = await a.election('controller').campaign();
      const coming = b.election('controller').campaign();
      await until(async () => (await b.election('controller').candidates()).some(({ memberId }) => memberId === 'b'), {
        what: 'b to wait',
      });
      fate = { kind: 'drop', page };
      const wasValid = coming.then(() => first.isValid());
      const second = await coming;
      expect([await wasValid, second.term > first.term]).toEqual([false, true]);
      expect((await first.ended).reason).toBe('deadline');
      const again = a.election('controller').campaign();
      fate = { kind: 'forward' };
      await until(async () => (await b.election('controller').candidates()).some(({ memberId }) => memberId === 'a'), {
        what: 'a to wait',
      });
      await second.resign();
      const third = await again;
      expect([third.term > second.term, third.isValid()]).toEqual([true, true]);
    });
  });
});
