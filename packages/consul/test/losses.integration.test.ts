/**
 * Each write of a leader's life is lost once before the agent receives it, and once after the agent
 * has served it.
 */

import { Member, type Store } from '@incumbent/core';
import { requireStore, startConsul, uniqueNamespace, until, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { startLossyAgent, type Loss, type WriteNumber } from './lossy-agent.ts';

const CALL = { timeoutMs: 5_000 };
const WITHIN_MS = 60_000;

/** The kinds of writes of a life, each with at least as many as a life has. */
const KINDS: readonly (readonly [kind: string, most: number])[] = [
  ['agent/service/register', 2],
  ['session/create', 2],
  ['txn', 9],
  ['session/destroy', 2],
  ['agent/service/deregister', 2],
];

async function life(store: Store, successor: Member): Promise<void> {
  await using member = new Member(store, { memberId: 'a' });
  const election = member.election('controller', { value: 'first' });
  const leadership = await election.campaign();
  await leadership.publish('second').catch(() => {});
  await leadership.handover(successor.memberId).catch(() => {});
  await leadership.resign().catch(() => {});
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('a leader’s life in which a write is lost', () => {
  let consul: ConsulServer;
  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  /**
   * One life with one loss. Returns the path of the lost write; undefined if the life had fewer
   * writes.
   */
  async function liveWith(write: WriteNumber, loss: Loss): Promise<string | undefined> {
    const namespace = uniqueNamespace();
    const { host } = new URL(consul.url);
    await using agent = await startLossyAgent(consul.url, write, loss);
    await using direct = await openConsul({ endpoint: host, namespace });
    await using successor = new Member(direct, { memberId: 'successor' });
    await using first = new Member(direct, { memberId: 'first' });
    const over = new AbortController();
    {
      await using store = await openConsul({ endpoint: agent.endpoint, namespace });
      agent.arm();
      const leads = await first.election('controller').campaign();
      const living = life(store, successor);
      const isWaiting = async (): Promise<true | undefined> =>
        (await first.election('controller').candidates()).some(({ memberId }) => memberId === 'a') || undefined;
      await until(isWaiting, { what: 'a to wait', withinMs: WITHIN_MS });
      successor
        .election('controller')
        .lead(async () => {}, { signal: over.signal })
        .catch(() => {});
      await leads.resign();
      await living;
    }
    over.abort(new Error('over'));
    await first.close();
    await successor.close();
    await nothingLeft(direct);
    // The terms of the first leader, of a, of the successor if it has led, and of a claim whose
    // response was lost.
    const term = Number(
      /"term":"?(\d+)/.exec(Buffer.from((await direct.read('elections/controller/term', CALL))?.value ?? []).toString())?.[1],
    );
    expect([2, 3, 4]).toContain(term);
    return agent.lost[0];
  }

  async function nothingLeft(store: Store): Promise<void> {
    const left = async (): Promise<true | undefined> => {
      const lists = await Promise.all(['elections', 'members'].map((prefix) => store.list(prefix, CALL)));
      return lists.flat().every(({ key }) => key.endsWith('/term')) || undefined;
    };
    await until(left, { what: 'only the term to be left', withinMs: WITHIN_MS });
  }

  it.each<Loss>(['request', 'response'])(
    'with its %s ends in the right state, whichever write it is',
    { timeout: 3 * WITHIN_MS },
    async (loss) => {
      const writes = KINDS.flatMap(([kind, most]) => Array.from({ length: most }, (_, i) => ({ kind, nth: i + 1 })));
      const lost = await Promise.all(writes.map((write) => liveWith(write, loss)));
      for (const [index, { kind, nth }] of writes.entries()) if (nth === 1) expect(lost[index], kind).toBeDefined();
    },
  );
});
