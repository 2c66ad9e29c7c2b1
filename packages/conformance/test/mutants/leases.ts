import { StoreError, type Cancel, type Entry, type Lease, type LeaseId, type LeaseOptions, type Moment, type Store } from '@incumbent/core';
import type { MemoryServer } from '@incumbent/memory';
import { but, type Mutant } from './mutant.ts';

const NEVER_ABSENT = 'a key whose lease another client renews without a pause is never absent: for reads, lists and watches';
const WHOLE_SECONDS = 'a ttl that is no whole number of seconds is kept, or the store says what it grants, also after a renewal';

/** How long after reading the clock such a store reads its keys, in ms. */
const LATE_MS = 5;

/**
 * Decides whether a lease is live by a clock that was read before the lease. A lease that was
 * renewed in between seems to end later than any lease can, like that of an earlier boot, and its
 * keys are taken as absent.
 */
class EarlyClock {
  readonly #server: MemoryServer;
  readonly #nowMs: number;

  private constructor(server: MemoryServer) {
    this.#server = server;
    this.#nowMs = server.clock.monotonic();
  }

  static async read(server: MemoryServer): Promise<EarlyClock> {
    const clock = new EarlyClock(server);
    await new Promise<void>((resolve) => void server.clock.schedule(LATE_MS, resolve));
    return clock;
  }

  readonly shows = (entry: Entry): boolean => {
    const lease = this.#server.leases().find(({ id }) => id === entry.lease);
    return lease === undefined || this.#server.clock.monotonic() + lease.remainingMs <= this.#nowMs + lease.ttlMs;
  };
}

const ends = new WeakMap<MemoryServer, Map<LeaseId, Cancel>>();

/** Ends a lease at this time of the server's clock, in place of a time that was set before. */
function endAt(server: MemoryServer, lease: LeaseId, atMs: number): void {
  const ofServer = ends.get(server) ?? new Map<LeaseId, Cancel>();
  ends.set(server, ofServer);
  ofServer.get(lease)?.();
  ofServer.set(
    lease,
    server.clock.schedule(atMs - server.clock.monotonic(), () => server.expireLease(lease)),
  );
}

/** Grants leases as the store does, and does something with each. */
const onGrant = (store: Store, then: (lease: Lease, options: LeaseOptions) => unknown): Pick<Store, 'grantLease'> => ({
  grantLease: async (ttlMs, options) => {
    const lease = await store.grantLease(ttlMs, options);
    then(lease, options);
    return lease;
  },
});

/** Shows each state of a watch, and then what such a store makes of it. */
async function* shownAgain<T>(watch: AsyncIterable<T>, server: MemoryServer, seen: (state: T, clock: EarlyClock) => T): AsyncGenerator<T> {
  for await (const state of watch) {
    yield state;
    yield seen(state, await EarlyClock.read(server));
  }
}

/** Answers a renewal with the `validFrom` of the call before. */
function validFromBefore(store: Store): Store {
  const latest = new Map<LeaseId, Moment>();
  return but(store, {
    ...onGrant(store, ({ id, validFrom }) => latest.set(id, validFrom)),
    renewLease: async (lease, options) => {
      const renewal = await store.renewLease(lease, options);
      const validFrom = latest.get(lease) ?? renewal.validFrom;
      latest.set(lease, renewal.validFrom);
      return { ...renewal, validFrom };
    },
  });
}

export const leaseMutants: readonly Mutant[] = [
  {
    name: 'a lease ends a little early',
    caughtBy: ['leases', 'keys vanish with a lease that nobody renews: in time, and never before its ttl has passed since validFrom'],
    wrap: (store, server) =>
      but(
        store,
        onGrant(store, ({ id, ttlMs }) => server.clock.schedule(ttlMs * 0.95, () => server.expireLease(id))),
      ),
  },
  {
    name: 'a lease lasts for the whole seconds of its ttl',
    caughtBy: ['leases', WHOLE_SECONDS],
    wrap: (store) =>
      but(store, {
        grantLease: async (ttlMs, options) => ({ ...(await store.grantLease(Math.floor(ttlMs / 1_000) * 1_000, options)), ttlMs }),
      }),
  },
  {
    name: 'a renewal extends a lease by the whole seconds of its ttl',
    caughtBy: ['leases', WHOLE_SECONDS],
    wrap: (store, server) =>
      but(store, {
        renewLease: async (lease, options) => {
          const renewal = await store.renewLease(lease, options);
          endAt(server, lease, server.clock.monotonic() + Math.floor(renewal.ttlMs / 1_000) * 1_000);
          return renewal;
        },
      }),
  },
  {
    name: 'a renewal sets the end of the lease by the time at which the client sent it',
    caughtBy: ['unknown outcomes', 'a renewal that is delivered after a later one does not shorten the lease'],
    wrap: (store, server) =>
      but(store, {
        renewLease: async (lease, options) => {
          const renewal = await store.renewLease(lease, options);
          endAt(server, lease, options.at.monotonicMs + renewal.ttlMs);
          return renewal;
        },
      }),
  },
  {
    name: 'a lease renews itself',
    caughtBy: ['leases', 'a lease without keys expires as well'],
    wrap: (store, server) =>
      but(store, {
        ...onGrant(store, ({ id, ttlMs }, options) => {
          const renew = (): void => {
            store.renewLease(id, options).catch(() => {});
            server.clock.schedule(ttlMs / 2, renew);
          };
          renew();
        }),
      }),
  },
  {
    name: 'a read takes a lease that is renewed meanwhile for one that is over',
    caughtBy: ['leases', NEVER_ABSENT],
    wrap: (store, server) =>
      but(store, {
        read: async (...call) => {
          const clock = await EarlyClock.read(server);
          const entry = await store.read(...call);
          return entry !== undefined && clock.shows(entry) ? entry : undefined;
        },
      }),
  },
  {
    name: 'a list takes a lease that is renewed meanwhile for one that is over',
    caughtBy: ['leases', NEVER_ABSENT],
    wrap: (store, server) =>
      but(store, {
        list: async (...call) => {
          const clock = await EarlyClock.read(server);
          return (await store.list(...call)).filter(clock.shows);
        },
      }),
  },
  {
    name: 'a watch takes a lease that is renewed meanwhile for one that is over',
    caughtBy: ['leases', NEVER_ABSENT],
    wrap: (store, server) =>
      but(store, {
        watch: (...call) => shownAgain(store.watch(...call), server, (entry, clock) => (entry && clock.shows(entry) ? entry : undefined)),
      }),
  },
  {
    name: 'a watched list takes a lease that is renewed meanwhile for one that is over',
    caughtBy: ['leases', NEVER_ABSENT],
    wrap: (store, server) =>
      but(store, {
        watchList: (...call) => shownAgain(store.watchList(...call), server, (entries, clock) => entries.filter(clock.shows)),
      }),
  },
  {
    name: 'a renewal is acknowledged and does nothing',
    caughtBy: ['leases', 'renewing keeps keys alive over many ttls, and no longer'],
    wrap: (store) => but(store, { renewLease: async (_, { at }) => ({ ttlMs: 1_000, validFrom: at }) }),
  },
  {
    name: 'a renewal brings a lease back that is gone',
    caughtBy: ['leases', 'renewing a revoked lease says LEASE_EXPIRED, and brings nothing back'],
    wrap: (store) =>
      but(store, { renewLease: (lease, options) => store.renewLease(lease, options).catch(() => store.grantLease(1_000, options)) }),
  },
  {
    name: 'a lease that is gone is told as unknown',
    caughtBy: ['leases', 'renewing an expired lease says LEASE_EXPIRED, and brings nothing back'],
    wrap: (store) =>
      but(store, {
        renewLease: (...call) =>
          store.renewLease(...call).catch(() => Promise.reject(new StoreError('STORE_FAILED', 'unknown', 'what was that?'))),
      }),
  },
  {
    name: 'validFrom is the moment of the answer',
    caughtBy: ['leases', 'validFrom is a moment that the caller passed, and none later than the call’s own'],
    wrap: (store, server) =>
      but(store, {
        renewLease: async (...call) => {
          const renewal = await store.renewLease(...call);
          return { ...renewal, validFrom: { monotonicMs: server.clock.monotonic() + 1, wallMs: server.clock.wall() } };
        },
      }),
  },
  {
    name: 'validFrom stays that of the grant',
    caughtBy: ['leases', 'a renewal moves validFrom on, or the lease could not be kept'],
    wrap: (store) => {
      const granted = new Map<LeaseId, { readonly monotonicMs: number; readonly wallMs: number }>();
      return but(store, {
        ...onGrant(store, ({ id, validFrom }) => granted.set(id, validFrom)),
        renewLease: async (lease, options) => ({
          ...(await store.renewLease(lease, options)),
          validFrom: granted.get(lease) ?? options.at,
        }),
      });
    },
  },
  {
    name: 'validFrom is that of the renewal before',
    caughtBy: ['leases', 'validFrom lags behind the call by no more than the store’s renewalLag'],
    wrap: validFromBefore,
  },
  {
    name: 'validFrom is that of the renewal two before, and the store says that it is the one before',
    caughtBy: ['leases', 'validFrom lags behind the call by no more than the store’s renewalLag'],
    wrap: (store) => {
      const lagging = but(store, { capabilities: { ...store.capabilities, renewalLag: 0.05 } });
      return validFromBefore(validFromBefore(lagging));
    },
  },
  {
    name: 'revoking is left to expiry',
    caughtBy: ['leases', 'revoking removes every key of the lease before it answers, and no other'],
    wrap: (store) => but(store, { revokeLease: async () => {} }),
  },
  {
    name: 'revoking a lease that is gone is an error',
    caughtBy: ['leases', 'revoking a lease that is gone already is no error'],
    wrap: (store, server) =>
      but(store, {
        revokeLease: async (lease, options) => {
          const isLive = server.leases().some(({ id }) => id === lease);
          if (!isLive) throw new StoreError('LEASE_EXPIRED', 'refused', 'gone');
          await store.revokeLease(lease, options);
        },
      }),
  },
  {
    name: 'closing revokes',
    caughtBy: ['leases', 'a lease outlives the client that it was granted to, until it expires'],
    wrap: (store, server) => {
      const granted: LeaseId[] = [];
      return but(store, {
        ...onGrant(store, ({ id }) => granted.push(id)),
        close: async () => {
          for (const lease of granted) server.expireLease(lease);
          await store.close();
        },
      });
    },
  },
];
