/** What watches look at: one key, or all under a prefix. */

import type { Clock, Entry, Key } from '@incumbent/core';
import { CallTime } from '@incumbent/network';

import { list } from './reads.ts';
import type { Namespace } from './namespace.ts';
import type { Reads } from './client/read-batcher.ts';
import type { View } from './watch.ts';
import { callOver, isCode } from './connection/failure.ts';
import { getData } from './protocol/nodes.ts';
import type { Session } from './client/session.ts';

/** How long one look may take. */
const LOOK = { timeoutMs: 5_000, background: true } as const;

interface KeyPlace {
  readonly session: Session;
  readonly reads: Reads;
  readonly namespace: Namespace;
  readonly path: string;
  /** False: an event tells all that is asked. */
  readonly values: boolean;
}

export function keyView({ session, reads, namespace, path, values }: KeyPlace): View<Entry | undefined> {
  const entryOf = (data: Awaited<ReturnType<Reads['data']>>): Entry | undefined =>
    data === undefined ? undefined : namespace.entry(path, data);
  return {
    path,
    mode: 'node',
    look: async (surely) => {
      if (surely) return entryOf(await reads.data(path, LOOK));
      try {
        return entryOf((await session.request(getData, { path }, LOOK)).answer);
      } catch (error) {
        if (isCode(error, 'NONODE')) return undefined;
        throw error;
      }
    },
    told: ({ path: where, kind }) => {
      if (where !== path) return undefined;
      if (kind === 'deleted') return { state: undefined };
      const isThere = kind === 'created' || kind === 'dataChanged';
      return isThere && !values ? { state: namespace.bareEntry(path) } : undefined;
    },
  };
}

export function listView(clock: Clock, reads: Reads, namespace: Namespace, prefix: Key): View<readonly Entry[]> {
  return {
    path: namespace.path(prefix),
    mode: 'tree',
    look: () => list(reads, namespace, prefix, {}, new CallTime(clock, LOOK, callOver)),
  };
}
