/** Leaders whose event loop is blocked, and what may happen to the worker that renews for them. */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { makeScratch, spawnScript, startEtcd, startPostgres, startRedis, type ScriptProcess } from '@incumbent/test-support';

import { freshNamespace, storeUrl, WAIT_MS } from './pair.ts';

const LEADER = new URL('../blocked.ts', import.meta.url);
const RIVAL = new URL('../blocked-rival.ts', import.meta.url);
const FAULT = new URL('../worker-fault.ts', import.meta.url);

/** The ttl of these processes: the default. */
export const BLOCKED_TTL_MS = 10_000;

/** The stores on which a worker can renew. */
export const WORKER_STORES = ['etcd', 'postgres', 'redis', 'sqlite'] as const;
export type WorkerStore = (typeof WORKER_STORES)[number];

/** The settings of a process that leads and blocks. */
export interface BlockedSettings {
  readonly url: string;
  readonly memberId: string;
  readonly election: string;
  /** Who renews the lease while the event loop is blocked. */
  readonly renewIn: 'eventLoop' | 'worker';
  readonly maxBlockedMs?: number;
  /** How long it blocks on SIGUSR2, in ms. */
  readonly blockMs: number;
  /** Whether it calls `isValid()` all the time during the block, and not only at its end. */
  readonly isSampled?: boolean;
  /** Whether it terminates its worker right before the block. */
  readonly endsWorker?: boolean;
}

/** A place for the keys of one run, on a server of its own if the store has servers. */
export interface BlockedPlace extends AsyncDisposable {
  /** The URL of a namespace that has not been used. */
  freshUrl(): string;
}

export async function openPlace(store: WorkerStore): Promise<BlockedPlace> {
  if (store === 'sqlite') {
    const folder = await makeScratch('blocked');
    return { freshUrl: () => `sqlite:${folder.path}/${freshNamespace()}.db`, [Symbol.asyncDispose]: () => folder.remove() };
  }
  const server = await { etcd: startEtcd, postgres: startPostgres, redis: startRedis }[store]();
  return { freshUrl: () => storeUrl([server.url], freshNamespace(), store), [Symbol.asyncDispose]: () => server.stop() };
}

/** A process that leads its election. If a worker renews its lease, the worker is ready. */
export interface BlockedLeader {
  readonly script: ScriptProcess;
  /** Makes the worker thread fail within 20 ms, also while the main thread is blocked. */
  failWorker(fault: 'throw' | 'pause', pauseMs?: number): void;
}

/** @param folder For the file by which the process's worker is told to fail. */
export async function startBlocked(settings: BlockedSettings, folder: string): Promise<BlockedLeader> {
  const file = join(folder, `${settings.memberId}.fault`);
  const env = { NODE_OPTIONS: `--import=${FAULT.href}`, INCUMBENT_TEST_WORKER_FAULT: file };
  const script = await spawnScript(LEADER, { args: [JSON.stringify(settings)], env });
  await script.waitFor('elected', { withinMs: WAIT_MS });
  if (settings.renewIn === 'worker') await script.waitFor('renewerReady', { withinMs: WAIT_MS });
  return {
    script,
    failWorker: (fault, pauseMs = 0) => {
      // The worker must not read the file before its text is there.
      writeFileSync(`${file}.new`, `${fault} ${pauseMs}`);
      renameSync(`${file}.new`, file);
    },
  };
}

/** A process that waits behind the leader of each of these elections. */
export async function startRival(url: string, elections: readonly string[]): Promise<ScriptProcess> {
  const script = await spawnScript(RIVAL, { args: [url, ...elections] });
  for (const election of elections)
    await script.waitFor(({ event, fields }) => event === 'waiting' && fields['election'] === election, { withinMs: WAIT_MS });
  return script;
}
