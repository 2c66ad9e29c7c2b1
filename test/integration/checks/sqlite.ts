/** The store in a file, and processes of one host. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeScratch, spawnScript, until, type Scratch, type ScriptEvent } from '@incumbent/test-support';
import { Member, openStore } from 'incumbent';
import { checkedHistoryOf, now, type ProcessRun } from '../history.ts';
import type { Check, CheckContext, Figures } from './check.ts';
import { at, ELECTION, WAIT_MS, spawnMany, spawnMember } from './pair.ts';

const LONG_TTL_MS = 10_000;

/** A file in a folder of its own. */
async function freshFile(): Promise<{ readonly url: string; readonly file: string; readonly folder: Scratch }> {
  const folder = await makeScratch('sqlite');
  const file = join(folder.path, 'state.db');
  return { url: `sqlite:${file}`, file, folder };
}

/** This many members, each in a process. A member that was killed is replaced. */
class Crowd {
  readonly #url: string;
  readonly #size: number;
  readonly #ttlMs: number;
  readonly #all: ProcessRun[] = [];

  constructor(url: string, size: number, ttlMs: number) {
    this.#url = url;
    this.#size = size;
    this.#ttlMs = ttlMs;
  }

  get #living(): readonly ProcessRun[] {
    return this.#all.filter(({ died }) => died === undefined);
  }

  /** Resolves when all are in the queue, one of them as the leader. */
  async complete(): Promise<void> {
    const missing = this.#size - this.#living.length;
    const from = this.#all.length;
    const names = Array.from({ length: missing }, (_, index) => `m${from + index}`);
    for (const name of names) this.#all.push({ name, script: await spawnMember(this.#url, name, this.#ttlMs, 0) });
    await using store = await openStore(this.#url);
    const member = new Member(store, { ttlMs: this.#ttlMs });
    const queue = member.election(ELECTION);
    const queued = async (): Promise<boolean> => (await queue.candidates()).length === this.#size;
    await until(queued, { what: `all ${this.#size} are in the queue`, withinMs: 2 * WAIT_MS });
    await member.close();
    await this.leader();
  }

  /** The live member that last reported that it leads. */
  async leader(): Promise<ProcessRun> {
    const find = (): ProcessRun | undefined => this.#living.find(({ script }) => script.events.at(-1)?.event === 'valid');
    return until(find, { what: 'a leader', withinMs: WAIT_MS, everyMs: 1 });
  }

  /** The time from the kill of the leader until the next one learns that it leads, in ms. */
  async killLeader(): Promise<number> {
    const leader = await this.leader();
    const next = this.#nextAfter(leader);
    const killedAt = now();
    leader.script.sigkill();
    const nextMs = at(await next()) - killedAt;
    await leader.script.exited;
    leader.died = now();
    return nextMs;
  }

  /** The time from the call of handover until the successor learns that it leads, in ms. */
  async handOver(): Promise<number> {
    const leader = await this.leader();
    const next = this.#nextAfter(leader);
    const from = leader.script.events.length;
    leader.script.sigusr2();
    const elected = await next();
    return at(elected) - at(await leader.script.waitFor('handingOver', { withinMs: WAIT_MS, from }));
  }

  /** Waits until another member learns, from now on, that it leads. */
  #nextAfter(leader: ProcessRun): () => Promise<ScriptEvent> {
    const others = this.#living.filter((one) => one !== leader).map(({ script }) => ({ script, from: script.events.length }));
    const find = (): ScriptEvent | undefined =>
      others.flatMap(({ script, from }) => script.events.slice(from)).find(({ event }) => event === 'elected');
    return () => until(find, { what: 'the next leader', withinMs: WAIT_MS, everyMs: 5 });
  }

  /** Asserts that no error was reported, and that the history breaks no promise. */
  check(): void {
    checkedHistoryOf(this.#all, ELECTION);
    const complaints = this.#all.flatMap(({ script }) => script.events.filter(({ event }) => event === 'failed' || event === 'trouble'));
    assert.deepEqual(complaints, []);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(({ script }) => script[Symbol.asyncDispose]()));
  }
}

/**
 * Opens a check whose runs share a crowd on one file. Each run begins with all members in the
 * queue. After it, history and file are checked.
 */
function onCrowd(size: number, run: (crowd: Crowd, context: CheckContext) => Promise<Figures>): Check['open'] {
  return async () => {
    const { url, file, folder } = await freshFile();
    const crowd = new Crowd(url, size, LONG_TTL_MS);
    return {
      run: async (_index, context) => {
        await crowd.complete();
        const figures = await run(crowd, context);
        crowd.check();
        checkIntegrity(file);
        return { figures };
      },
      [Symbol.asyncDispose]: async () => {
        await crowd.stop();
        await folder.remove();
      },
    };
  };
}

export const sqliteKill: Check = {
  name: 'sqlite-kill',
  claim: 'On sqlite the next one leads within 50 ms of the SIGKILL of the leader, at a ttl of 10 s.',
  method: `Three processes on one file, ttl ${LONG_TTL_MS} ms; the leader is killed at a random phase. next: from the moment before the kill to the next one being told that it leads.`,
  runs: 20,
  parallel: 1,
  open: onCrowd(3, async (crowd, { random, isTimed }) => {
    await sleep(500 + random() * 1_000);
    const nextMs = await crowd.killLeader();
    assert.ok(nextMs < (isTimed ? 50 : LONG_TTL_MS / 2), `the next one led after ${nextMs} ms`);
    return { nextMs };
  }),
};

export const sqliteHandover: Check = {
  name: 'sqlite-handover',
  claim: 'On sqlite a handover takes less than 15 ms.',
  method: `Three processes on one file, ttl ${LONG_TTL_MS} ms; the leader, whose work stops at once, hands over by name. handover: from its call to the successor being told that it leads.`,
  runs: 20,
  parallel: 1,
  open: onCrowd(3, async (crowd, { random, isTimed }) => {
    await sleep(500 + random() * 1_000);
    const handoverMs = await crowd.handOver();
    assert.ok(handoverMs < (isTimed ? 15 : LONG_TTL_MS / 2), `it took ${handoverMs} ms`);
    return { handoverMs };
  }),
};

const KILLS = 10;
const CROWD = 50;

export const sqliteStorm: Check = {
  name: 'sqlite-storm',
  claim:
    'With 50 processes on one file and the leader killed 200 times, no history has two valid leaders, nothing is damaged, and nobody sees "database is locked".',
  method:
    `${CROWD} processes on one file, ttl ${LONG_TTL_MS} ms; in each run the leader is killed ${KILLS} times in a row as soon as there is one, then as many start anew. ` +
    'After each run: the history of all runs is checked, no member has complained (given up, a renewal that failed, a line printed), and the file passes integrity_check. next: as in sqlite-kill, here with every other process waiting for the same two cores.',
  runs: 20,
  parallel: 1,
  open: onCrowd(CROWD, async (crowd) => {
    const times: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) times.push(await crowd.killLeader());
    return { kills: KILLS, longestNextMs: Math.max(...times) };
  }),
};

function checkIntegrity(file: string): void {
  const database = new DatabaseSync(file);
  try {
    const said = database.prepare('PRAGMA integrity_check').all();
    assert.deepEqual(
      said.map((row) => ({ ...row })),
      [{ integrity_check: 'ok' }],
    );
  } finally {
    database.close();
  }
}

export const sqliteIdle: Check = {
  name: 'sqlite-idle',
  claim: 'On sqlite a process that leads 1,000 elections, and one that waits for it in all of them, take less than 2 % of a core each.',
  method: `Two processes on one file, ttl ${LONG_TTL_MS} ms: one leads 1,000 elections, the other waits in all. Their CPU time over 20 s, as the kernel counts it, in % of a core.`,
  runs: 3,
  parallel: 1,
  open: async () => {
    const { url, folder } = await freshFile();
    const leader = await spawnMany(url, { ttlMs: LONG_TTL_MS, memberId: 'leader' });
    await leader.waitFor('allLed', { withinMs: 2 * WAIT_MS });
    const waiter = await spawnMany(url, { ttlMs: LONG_TTL_MS, memberId: 'waiter' });
    await using store = await openStore(url);
    const member = new Member(store, { ttlMs: LONG_TTL_MS });
    const isQueued = async (): Promise<boolean> => {
      const queues = await Promise.all([0, 500, 999].map((index) => member.election(`e${index}`).candidates()));
      return queues.every((queue) => queue.length === 2);
    };
    await until(isQueued, { what: 'the other one waits in all', withinMs: 2 * WAIT_MS });
    await member.close();
    await sleep(3_000);
    return {
      run: async (_index, { isTimed }) => {
        const before = [cpuMs(leader.pid), cpuMs(waiter.pid)];
        const began = now();
        await sleep(20_000);
        const forMs = now() - began;
        const [leading = 0, waiting = 0] = [leader.pid, waiter.pid].map(
          (pid, index) => (100 * (cpuMs(pid) - (before[index] ?? 0))) / forMs,
        );
        assert.ok(!isTimed || (leading < 2 && waiting < 2), `leading: ${leading} %, waiting: ${waiting} %`);
        return { figures: { leadingPercent: leading, waitingPercent: waiting } };
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all([leader[Symbol.asyncDispose](), waiter[Symbol.asyncDispose]()]);
        await folder.remove();
      },
    };
  },
};

/** The kernel counts in hundredths of a second: utime and stime of proc(5). */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const RENEWER = new URL('../renewer.ts', import.meta.url);
const READS = 100_000;

export const sqliteReads: Check = {
  name: 'sqlite-reads',
  claim: 'A key whose lease another process renews all the time is never read as absent.',
  method:
    `One process holds a key of a SQLite file by a lease, and renews the lease without a pause; another one reads the key ${READS} times a run. ` +
    'absent: reads that did not find it; renewals: how often it was renewed meanwhile, in thousands.',
  runs: 10,
  parallel: 1,
  open: async () => {
    const { url, folder } = await freshFile();
    const renewer = await spawnScript(RENEWER, { args: [url] });
    await renewer.waitFor('holds', { withinMs: WAIT_MS });
    const store = await openStore(url);
    return {
      run: async () => {
        const before = renewer.events.length;
        let absent = 0;
        for (let reads = 0; reads < READS; reads += 1) {
          const entry = await store.read('held', { timeoutMs: WAIT_MS });
          if (entry === undefined) absent += 1;
        }
        assert.equal(absent, 0);
        const renewals = renewer.events.length - before;
        assert.ok(renewals > 0, 'it was renewed meanwhile');
        return { figures: { absent, renewals } };
      },
      [Symbol.asyncDispose]: async () => {
        await store.close();
        await renewer[Symbol.asyncDispose]();
        await folder.remove();
      },
    };
  },
};
