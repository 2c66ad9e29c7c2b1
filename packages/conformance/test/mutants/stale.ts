import type { StoreError, WatchOptions } from '@incumbent/core';
import type { Mutant } from './mutant.ts';
import { bent, eager } from './watch.ts';

const CUT = 'cut off, it says that it is stale; healed, it shows what changed meanwhile';
const REFUSED = 'refused, it says that it is stale; healed, it goes on';
const HEALTHY = 'on a healthy link it never says that it is stale';

export const staleMutants: readonly Mutant[] = [
  {
    name: 'a watch says at its beginning that it is stale, and never again',
    caughtBy: ['watch', CUT],
    wrap: (store) =>
      bent(store, (open, { signal, onStale }) => {
        onStale?.(undefined as never);
        return open({ signal });
      }),
  },
  {
    name: 'a watch says that it is stale whenever it cannot connect',
    caughtBy: ['watch', REFUSED],
    wrap: (store, { clock }) =>
      bent(store, async function* (open, options) {
        let attempts = 0;
        const onStale = (cause: StoreError): void => {
          const attempt = (): void => {
            options.onStale?.(cause);
            attempts += 1;
            if (attempts < 5) clock.schedule(10, attempt);
          };
          attempt();
        };
        yield* open({ ...options, onStale });
      }),
  },
  {
    name: 'a watch says that it is stale whenever nothing has changed for a while',
    caughtBy: ['watch', HEALTHY],
    wrap: (store, { clock }) =>
      bent(store, async function* (open, options) {
        let cancel = (): void => {};
        for await (const state of open(options)) {
          cancel();
          cancel = clock.schedule(20, () => options.onStale?.(undefined as never));
          yield state;
        }
        cancel();
      }),
  },
  {
    name: 'a watch does not say why it is stale',
    caughtBy: ['watch', CUT],
    wrap: (store) =>
      bent(store, (open, options) => {
        const onStale: WatchOptions['onStale'] = () => options.onStale?.(undefined as never);
        return open({ ...options, onStale });
      }),
  },
  {
    name: 'a watch keeps what its busy consumer has not taken when its link breaks',
    caughtBy: ['watch', 'cut off while its consumer is busy, it drops the state that had arrived before'],
    wrap: (store) => bent(store, (open, options) => eager(open(options), (queue, state) => queue.splice(0, 1, state))),
  },
];
