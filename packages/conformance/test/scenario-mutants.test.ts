/** Shows that the scenarios can fail: each family catches a store that breaks a guarantee. */

import { outageCases, runCase, scenarioCases, type StoreCase } from '@incumbent/conformance';
import { StoreError, type Change, type Store } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import { but, type Mutant } from './mutants/mutant.ts';

const cases: readonly StoreCase[] = [...scenarioCases, ...outageCases];

/** A swap without some of its changes, which reports success. */
function without(store: Store, isLeftOut: (change: Change) => boolean): Store {
  return but(store, {
    compareAndSwap: (changes, options) => {
      const kept = changes.filter((change) => !isLeftOut(change));
      return store.compareAndSwap(kept.length === 0 ? changes : kept, options);
    },
  });
}

/** A store whose watches show each leader's record with other contents first. */
function showingFirst(store: Store, change: (record: string) => string): Store {
  return but(store, {
    async *watch(...call) {
      for await (const state of store.watch(...call)) {
        const record = state?.key.endsWith('/leader') === true ? new TextDecoder().decode(state.value) : '';
        const changed = change(record);
        if (state !== undefined && changed !== record)
          yield { ...state, value: new TextEncoder().encode(changed), revision: `${state.revision}0` };
        yield state;
      }
    },
  });
}

/** No longer a value that a scenario publishes. */
const withoutNumber = (record: string): string => record.replace('"n":', '"x":');

const isCheck = (change: Change): boolean => !('put' in change) && !('delete' in change);

/** `caughtBy`: the family, and the id in the scenario's name. */
const mutants: readonly Mutant[] = [
  {
    name: 'a watch begins with the next change, not with the state now',
    caughtBy: ['Curator', 'A11'],
    wrap: (store) =>
      but(store, {
        async *watch(...call) {
          let isFirst = true;
          for await (const state of store.watch(...call)) if (!isFirst || (isFirst = false)) yield state;
        },
      }),
  },
  {
    name: 'the end of a lease leaves its keys',
    caughtBy: ['Curator', 'A07'],
    wrap: (store) => but(store, { revokeLease: async () => {} }),
  },
  {
    name: 'a watch does not tell that a key has gone',
    caughtBy: ['kazoo', 'A30'],
    wrap: (store) =>
      but(store, {
        async *watch(...call) {
          for await (const state of store.watch(...call)) if (state !== undefined) yield state;
        },
      }),
  },
  {
    name: 'a watch of a key shows the state before the last, too late',
    caughtBy: ['etcd', 'B07'],
    wrap: (store) =>
      but(store, {
        async *watch(...call) {
          let before: Awaited<ReturnType<Store['read']>>;
          for await (const state of store.watch(...call)) {
            yield state === undefined ? state : (before ?? state);
            before = state;
          }
        },
      }),
  },
  {
    name: 'a watch of a key shows a value that nobody has published',
    caughtBy: ['etcd', 'B07'],
    wrap: (store) => showingFirst(store, withoutNumber),
  },
  {
    name: 'a watch through a link that flaps shows a value that nobody has published',
    caughtBy: ['etcd', 'B16'],
    wrap: (store) => showingFirst(store, withoutNumber),
  },
  {
    name: 'a watch shows a value with the name of another member',
    caughtBy: ['etcd', 'B16'],
    wrap: (store) => showingFirst(store, (record) => record.replace(/"memberId":"[^"]*"/, '"memberId":"z"')),
  },
  {
    name: 'each of several watches shows a value that nobody has published',
    caughtBy: ['Jepsen', 'F04'],
    wrap: (store) => showingFirst(store, withoutNumber),
  },
  {
    name: 'a new value is acknowledged, and not written',
    caughtBy: ['client-go', 'C09 a renewed leadership'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: async (changes, options) => {
          const isNewValue = changes.some((change) => change.key.endsWith('/leader') && 'put' in change && change.expect !== null);
          return isNewValue ? { swapped: true, revisions: changes.map(() => 'r') } : store.compareAndSwap(changes, options);
        },
      }),
  },
  {
    name: 'the guard of a write is not checked',
    caughtBy: ['Jepsen', 'F01'],
    wrap: (store) => without(store, (change) => change.key.endsWith('/term') && isCheck(change)),
  },
  {
    name: 'entries that are given up stay',
    caughtBy: ['Consul', 'C08'],
    wrap: (store) =>
      but(store, {
        compareAndSwap: (changes, options) =>
          changes.every((change) => 'delete' in change && change.key.includes('/candidates/'))
            ? Promise.resolve({ swapped: true, revisions: [undefined] })
            : store.compareAndSwap(changes, options),
      }),
  },
  {
    name: 'a swap leaves the leader’s key where it is to be deleted',
    caughtBy: ['Akka', 'C14 a release'],
    wrap: (store) => without(store, (change) => change.key.endsWith('/leader') && 'delete' in change),
  },
  {
    name: 'a client whose connection was refused once stays broken',
    caughtBy: ['outages', 'A04'],
    wrap: (store) => {
      let isBroken = false;
      return but(store, {
        grantLease: async (...call) => {
          if (isBroken) throw new StoreError('UNREACHABLE', 'notSent', 'broken for good');
          return store.grantLease(...call);
        },
        renewLease: async (...call) => {
          try {
            return await store.renewLease(...call);
          } catch (error) {
            isBroken = true;
            throw error;
          }
        },
      });
    },
  },
];

function caseOf({ caughtBy: [area, id] }: Mutant): StoreCase {
  const found = cases.find((one) => one.area === area && one.name.startsWith(id));
  if (found === undefined) throw new Error(`there is no scenario ${id} in "${area}"`);
  return found;
}

describe('broken stores', () => {
  for (const mutant of mutants) {
    it(`"${mutant.name}" is caught by ${mutant.caughtBy[1]}`, async () => {
      const one = caseOf(mutant);
      const never = (reason: string): never => expect.unreachable(`skipped: ${reason}`);
      await runCase(one, memoryHarness({ latencyMs: 1 }), never);
      const broken = memoryHarness({ latencyMs: 1, wrap: (store, server) => mutant.wrap(store, server) });
      const error: unknown = await runCase(one, broken, never).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error, 'the scenario passes').toBeInstanceOf(Error);
      expect(String(error)).not.toMatch(/TypeError|ReferenceError/);
    });
  }

  it('exist for every family', () => {
    expect(new Set(mutants.map(({ caughtBy: [area] }) => area))).toEqual(new Set(cases.map(({ area }) => area)));
  });
});
