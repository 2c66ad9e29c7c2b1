/** Clients of `incumbent serve` in three languages, whose processes, sidecars and stores fail. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeScratch, requireLanguage, startEtcd, startProxy, until } from '@incumbent/test-support';
import { type CrewStore, FAULTS, LANGUAGES, ServeCrew } from '../serve-crew.ts';
import { type Check, type CheckContext, type Figures, onServer } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const ROUNDS = FAULTS.length;
const LONGEST_TRANSACTION_MS = 30_000;

/**
 * Each sidecar has a proxy in front of etcd. Random cuts refuse connections, or swallow all bytes.
 */
function onEtcd(serverUrl: string): CrewStore {
  const namespace = freshNamespace();
  return {
    url: storeUrl([serverUrl], namespace),
    cutsAll: false,
    link: async () => {
      const proxy = await startProxy(serverUrl);
      return {
        url: storeUrl([proxy.url], namespace),
        cut: async (random) => {
          if (random() < 0.5) return proxy.blackhole();
          proxy.refuse();
          proxy.reset();
        },
        heal: () => proxy.heal(),
        [Symbol.asyncDispose]: () => proxy.close(),
      };
    },
  };
}

/**
 * A file has no connection that could be cut. Another process that keeps the file's write lock has
 * the same effect on all sidecars together: none can renew its lease, and none can claim.
 */
function onSqlite(file: string): CrewStore {
  const url = `sqlite:${file}`;
  let lock: DatabaseSync | undefined;
  const heal = async (): Promise<void> => {
    lock?.close();
    lock = undefined;
  };
  const cut = async (): Promise<void> => {
    lock = await until(() => lockOf(file), { what: 'the lock of the file', withinMs: LONGEST_TRANSACTION_MS, everyMs: 1 });
  };
  return { url, cutsAll: true, link: async () => ({ url, cut, heal, [Symbol.asyncDispose]: heal }) };
}

/** Does not wait, because a wait would block this process. Throws while another process writes. */
function lockOf(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('BEGIN IMMEDIATE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A round of each fault in random order, then the check of all acts. */
async function rounds(store: CrewStore, { random }: CheckContext): Promise<Figures> {
  await using crew = await ServeCrew.open(store);
  const order = FAULTS.map((fault) => ({ fault, at: random() })).toSorted((a, b) => a.at - b.at);
  for (const { fault } of order) await crew.round(fault, random);
  const figures = await crew.check();
  assert.ok((figures['terms'] ?? 0) > ROUNDS, `there were ${figures['terms']} terms in ${ROUNDS} rounds`);
  return { rounds: ROUNDS, ...figures };
}

function deadlines(name: string, where: string, cut: string): Omit<Check, 'open'> {
  return {
    name,
    claim: `No client of \`incumbent serve\` on ${where} acts past its deadline when clients and sidecars are killed and stopped, and the store is cut off.`,
    method:
      `A client in Python, one in Go and one in shell, each at a sidecar of its own, ttl 4000 ms, elect one leader. A run is ${ROUNDS} rounds, in random order: SIGKILL of the client that leads, SIGSTOP of it, ` +
      `SIGKILL and SIGSTOP of its sidecar, and ${cut}; then another client leads, and all is healed. Before each act a client reads the monotonic clock, compares it with its deadline, and prints the reading with its term. ` +
      'margin: the shortest time between the last act of a term and the first act of the next one, by these readings; seenMargin: between the last act and the moment at which another process sees the leader of a later term in the store; ' +
      'both must be positive, and one client acts in each term. lateActs: acts within the deadline that were printed after an act of a later term, because the client was stopped between check and act; a fence refuses these.',
    runs: 20,
    parallel: 1,
    canRun: async () => (await Promise.all(LANGUAGES.map(requireLanguage))).every(Boolean),
  };
}

export const serveDeadlinesEtcd: Check = {
  ...deadlines('serve-deadlines-etcd', 'etcd', 'a cut of the connection between its sidecar and etcd (reset and refused, or swallowed)'),
  open: onServer(
    () => startEtcd(),
    async (server, context) => ({ figures: await rounds(onEtcd(server.url), context) }),
  ),
};

export const serveDeadlinesSqlite: Check = {
  ...deadlines(
    'serve-deadlines-sqlite',
    'SQLite',
    'a process that keeps the write lock of the file for longer than the ttl, as a file has no connection to cut',
  ),
  open: async () => ({
    run: async (_index, context) => {
      const folder = await makeScratch('serve-deadlines');
      try {
        return { figures: await rounds(onSqlite(join(folder.path, 'state.db')), context) };
      } finally {
        await folder.remove();
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }),
};
