import { MemoryServer, TestCluster } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ElectionHost, type HostFailure, type HostOptions } from '../src/host.ts';
import { lead, openStore, withLock } from '../src/index.ts';

let cluster: TestCluster;
let failures: HostFailure[];
beforeEach(() => {
  cluster = new TestCluster();
  failures = [];
});
afterEach(async () => cluster.close());

async function open(id: string, options: Partial<HostOptions> = {}): Promise<ElectionHost> {
  const { store, options: member } = cluster.process(id);
  return ElectionHost.open({ store, member, onFailure: (failure) => failures.push(failure), ...options });
}

function raise(error: Error): never {
  throw error;
}

describe('an election host', () => {
  it('leads in the background, and stops when it closes', async () => {
    const host = await open('a');
    const terms: bigint[] = [];
    host.lead('jobs', async ({ term, ended }) => {
      terms.push(term);
      await ended;
    });
    expect(host.isLeader('jobs')).toBe(false);
    await cluster.advance(500);
    expect([terms, host.isLeader('jobs'), host.health()]).toMatchObject([[1n], true, { healthy: true, leads: [{ term: '1' }] }]);
    await cluster.run(host.close());
    await cluster.run(host.close());
    expect(failures).toEqual([]);
    expect(cluster.server.entries()).toHaveLength(1);
  });

  it('is no leader from the moment it closes, while its work still drains and after', async () => {
    const host = await open('a');
    const work = Promise.withResolvers<void>();
    host.lead('jobs', () => work.promise);
    await cluster.advance(500);
    const closing = host.close();
    await cluster.advance(10);
    expect([host.isLeader('jobs'), host.isLeader('others')]).toEqual([false, false]);
    work.resolve();
    await cluster.run(closing);
    expect([host.isLeader('jobs'), host.isLeader('others')]).toEqual([false, false]);
  });

  it('creates no election to answer isLeader, so the next call of election may still pass options', async () => {
    const host = await open('a');
    expect(host.isLeader('jobs')).toBe(false);
    expect(host.election('jobs', { value: 'address' }).name).toBe('jobs');
    await cluster.run(host.close());
  });

  it('leads an election that the caller has made with the member', async () => {
    const host = await open('a');
    const election = host.member.election('jobs', { value: 'address' });
    host.lead('jobs', ({ ended }) => ended);
    await cluster.advance(500);
    expect([election.leadership?.term, host.isLeader('jobs')]).toEqual([1n, true]);
    await cluster.run(host.close());
  });

  it('tells of an election that has failed, and is unhealthy from then on', async () => {
    const host = await open('a');
    const error = new Error('no paper');
    host.lead('jobs', () => {
      throw error;
    });
    host.run('others', async () => {
      throw error;
    });
    await cluster.advance(500);
    const both = [
      { election: 'others', error },
      { election: 'jobs', error },
    ];
    expect(failures).toEqual(both);
    expect(host.health()).toMatchObject({ healthy: false, failures: both.map(({ election }) => ({ election, error: 'Error: no paper' })) });
    await cluster.run(host.close());
  });

  it.each(['waits', 'leads'])('counts it as no failure if the caller aborts the call while this process %s', async (how) => {
    const other = cluster.member('other');
    if (how === 'waits') await cluster.run(other.election('jobs').campaign());
    const host = await open('a');
    const stop = new AbortController();
    host.lead('jobs', ({ ended }) => ended, { signal: stop.signal });
    await cluster.advance(500);
    expect(host.isLeader('jobs')).toBe(how === 'leads');
    stop.abort(new Error('the tenant has left'));
    await cluster.advance(500);
    expect([failures, host.health().healthy, host.isLeader('jobs')]).toEqual([[], true, false]);
    await cluster.run(host.close());
  });

  it('counts it as a failure if the work has failed before the caller aborts the call', async () => {
    const host = await open('a');
    const [stop, error] = [new AbortController(), new Error('no paper')];
    host.lead('jobs', () => raise(error), { signal: stop.signal });
    await cluster.advance(500);
    stop.abort();
    await cluster.advance(500);
    expect([failures, host.health().healthy]).toEqual([[{ election: 'jobs', error }], false]);
    await cluster.run(host.close());
  });

  it.each([
    ['throws', () => raise(new Error('no pager'))],
    ['rejects', async () => raise(new Error('no pager'))],
  ])('closes although its callback for failures %s', async (_, thrown) => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const host = await open('a', { onFailure: thrown });
    host.run('jobs', () => Promise.reject(new Error('no paper')));
    await cluster.advance(10);
    expect(host.health()).toMatchObject({ healthy: false, failures: [{ election: 'jobs' }] });
    await cluster.run(host.close());
    const calls = [...warning.mock.calls];
    warning.mockRestore();
    expect(calls).toEqual([['onFailure threw: no pager', { type: 'IncumbentWarning', code: 'INCUMBENT_CALLBACK_FAILED' }]]);
  });

  it('accepts a weak store by its name, and ignores the name on a store that is not weak', async () => {
    const weak = new MemoryServer({ linearizable: false }).connect();
    const refused = await open('a', { store: weak, member: {} });
    expect(() => refused.election('jobs')).toThrow(
      expect.objectContaining({
        code: 'WEAK_STORE',
        message: expect.stringMatching(/pass acceptWeakStore: 'memory' in the options of this call, or of the host that makes it$/),
      }),
    );
    const accepted = await open('a', { store: weak, member: {}, acceptWeakStore: 'memory' });
    expect(accepted.election('jobs').name).toBe('jobs');
    expect(accepted.election('reports', { acceptWeakStore: undefined }).name).toBe('reports');
    const strong = await open('b', { acceptWeakStore: 'memory' });
    expect(strong.election('jobs').name).toBe('jobs');
    for (const host of [refused, accepted, strong]) await cluster.run(host.close());
    await weak.close();
  });

  it('closes the store that it has opened, and not the one that it was given', async () => {
    const host = await open('a', { store: 'memory:', member: {} });
    await host.close();
    await expect(host.store.read('key', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    const { store } = cluster.process('b');
    const other = await open('b');
    await cluster.run(other.close());
    expect(await cluster.run(store.read('key', { timeoutMs: 100 }))).toBeUndefined();
  });

  it('opens nothing if `signal` has aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(open('a', { signal })).rejects.toThrow('enough');
  });

  it.each([{ waitMs: 1_000 }, { onRetry: () => {} }])('says how to wait for a store that it was given open (%o)', async (wait) => {
    const { store } = cluster.process('a');
    const refused = ElectionHost.open({ store, ...wait, onFailure: () => {} });
    await expect(refused).rejects.toThrow(
      /^(?:waitMs is 1000|onRetry is a function): it must be left out: the store is open\. .*store: \(\) => openRedis\(\{ client \}\)$/,
    );
  });

  it('says what it opens if there is no store, as with a variable of the environment that is not set', async () => {
    const settings: { readonly url?: string } = {};
    const refused: Promise<unknown> = Reflect.apply(ElectionHost.open, ElectionHost, [{ store: settings.url, onFailure: () => {} }]);
    await expect(refused).rejects.toThrow(
      /^store is undefined: it must be an open store, a URL, or a function that opens a store, such as/,
    );
  });

  it.each([{ sendCommand: () => {} }, Object.assign(() => {}, { sendCommand: () => {} })])(
    'and the other calls that need a store say how to take over the settings of a client of Redis (%#)',
    async (client) => {
      const refused: Promise<unknown> = Reflect.apply(ElectionHost.open, ElectionHost, [{ store: client, onFailure: () => {} }]);
      await expect(refused).rejects.toThrow(/^store is a client of Redis: .*such as \(\) => openRedis\(\{ client \}\)$/);
      for (const call of [openStore, lead]) {
        const args = call === lead ? [client, 'jobs', () => {}] : [client];
        const other: Promise<unknown> = Reflect.apply(call, undefined, args);
        await expect(other).rejects.toThrow(/^url is a client of Redis: .*such as \(\) => openRedis\(\{ client \}\)$/);
      }
      const lock: Promise<unknown> = Reflect.apply(withLock, undefined, [client, 'jobs', () => {}]);
      await expect(lock).rejects.toThrow('openRedis({ client })');
    },
  );

  it('says where an option of the member belongs', async () => {
    await expect(open('a', Object.assign({ member: {} }, { ttlMs: 5_000 }))).rejects.toThrow(
      /there is no host option "ttlMs": the options are .*\. ttlMs is an option of the member: member: \{ ttlMs \}$/,
    );
  });

  it.each([
    { waitMs: 1_000 },
    { nonsense: 1 },
    { member: { ttlMs: -1 } },
    { onFailure: 1 },
    { onRetry: 1 },
    { signal: 1 },
    { member: { logger: 1 } },
  ])('refuses %o', async (options) => {
    const { store, options: member } = cluster.process('a');
    const all = { store, member, onFailure: (): void => {} };
    await expect(ElectionHost.open(Object.assign(all, options))).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
