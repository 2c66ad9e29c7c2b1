/** Faults of the store's servers, and changes by an operator. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults } from '@incumbent/test-support';
import type { ServerFault, StoreFault } from './fault.ts';

const ATTEMPTS = 5;

/** A server without a quorum does not serve requests yet, and is started again. */
async function restart(server: Faults): Promise<void> {
  for (let left = ATTEMPTS - 1; ; left -= 1) {
    try {
      return await server.restart();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/** A fault of any server of its own process. */
function serverFault(name: string, weight: number, begin: ServerFault['begin']): ServerFault {
  return { name, on: 'server', weight, appliesTo: ({ servers }) => servers.length > 0, begin };
}

/** Killed (SIGKILL), and started again on its data. */
const killServer = serverFault('killServer', 3, async (server) => {
  await server.kill('SIGKILL');
  return () => restart(server);
});

/** Stopped (SIGSTOP), and continued. */
const pauseServer = serverFault('pauseServer', 2, async (server) => {
  await server.pause();
  return () => server.resume();
});

/** Cut off from the other servers, while clients reach it. */
const cutServer: ServerFault = {
  name: 'cutServer',
  on: 'server',
  weight: 2,
  appliesTo: ({ partition }) => partition !== undefined,
  begin: async (_server, { partition }, index) => {
    partition?.cutOff(index);
    return () => partition?.heal();
  },
};

/** One way, in ms. Three times this is the election timeout of an etcd server. */
const SLOW_MS = 350;

/** The messages between it and the other servers take longer. */
const slowServer: ServerFault = {
  name: 'slowServer',
  on: 'server',
  weight: 1,
  appliesTo: ({ partition }) => partition !== undefined,
  begin: async (_server, { partition }, index, random) => {
    partition?.slow(index, random() * SLOW_MS);
    return () => partition?.heal();
  },
};

/** Its disk hangs: what it must write waits, and it answers what needs no write. */
const freezeDisk: ServerFault = {
  name: 'freezeDisk',
  on: 'server',
  weight: 2,
  only: ({ disk }) => disk?.server,
  appliesTo: ({ disk }) => disk !== undefined,
  begin: async (_server, { disk }) => {
    await disk?.freeze();
    return () => disk?.thaw();
  },
};

/** Each server in turn is terminated (SIGTERM) and started again, as in an upgrade. */
const rollServers: StoreFault = {
  name: 'rollServers',
  on: 'store',
  target: 'servers',
  weight: 1,
  appliesTo: ({ servers }) => servers.length > 0,
  begin: async ({ servers }, isOver) => {
    const rolled = roll(servers, isOver);
    return () => rolled;
  },
};

const BETWEEN_MS = 300;

async function roll(servers: readonly Faults[], isOver: () => boolean): Promise<void> {
  for (const server of servers) {
    if (isOver()) return;
    await server.kill('SIGTERM');
    await restart(server);
    await sleep(BETWEEN_MS);
  }
}

/** The store's own tool deletes a key of the leader. */
function deletion(name: 'deleteRecord' | 'deleteEntry'): StoreFault {
  return {
    name,
    on: 'store',
    target: 'record',
    weight: 2,
    appliesTo: () => true,
    begin: async (site) => {
      await site[name]();
      return () => {};
    },
  };
}

/** Deletes the leader's record. */
const deleteRecord = deletion('deleteRecord');

/** Deletes the leader's entry in the queue. Never in one storm with deleteRecord: see `plan.ts`. */
const deleteEntry = deletion('deleteEntry');

export const serverFaults: readonly (ServerFault | StoreFault)[] = [
  killServer,
  pauseServer,
  cutServer,
  slowServer,
  freezeDisk,
  rollServers,
  deleteRecord,
  deleteEntry,
];
