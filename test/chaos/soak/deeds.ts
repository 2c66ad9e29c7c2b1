/** What the members of a soak test do all the time. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionObserver, isIncumbentError, Member } from 'incumbent';
import type { Participant } from './participant.ts';

export interface Deed {
  readonly name: string;
  readonly do: (participant: Participant, random: () => number) => Promise<void>;
}

const WATCHED_MS = 300;

function oneOf<T>(from: Iterable<T>, random: () => number): T | undefined {
  const all = [...from];
  return all[Math.floor(random() * all.length)];
}

const resign: Deed = {
  name: 'resign',
  do: async ({ held }, random) => {
    await oneOf(held.values(), random)?.resign();
  },
};

const handOver: Deed = {
  name: 'handover',
  do: async ({ held }, random) => {
    try {
      await oneOf(held.values(), random)?.handover();
    } catch (error) {
      // The leadership may have ended before, or the successor's campaign.
      const codes = ['NO_SUCH_CANDIDATE', 'HANDOVER_FAILED', 'LEADERSHIP_ENDED'] as const;
      if (!codes.some((code) => isIncumbentError(error, code))) throw error;
    }
  },
};

const abandon: Deed = {
  name: 'abandon',
  do: async (participant, random) => {
    const name = oneOf(participant.elections, random);
    if (name !== undefined) participant.abandon(name);
  },
};

const observe: Deed = {
  name: 'observe',
  do: async ({ store, elections }, random) => {
    await using observer = new ElectionObserver(store, oneOf(elections, random) ?? 'e0');
    observer.subscribe(() => {});
    await sleep(WATCHED_MS);
  },
};

const visit: Deed = {
  name: 'group',
  do: async ({ store }, random) => {
    await using member = new Member(store, { ttlMs: 5_000 });
    const group = member.group(`g${Math.floor(random() * 10)}`);
    await group.join();
    await group.members();
  },
};

const restart: Deed = { name: 'restart', do: (participant) => participant.restart() };

export const deeds: readonly Deed[] = [resign, handOver, abandon, observe, visit, restart];
