/** Requests of operators to a leader, while the store fails single calls. */

import { ElectionAdmin, Member, StoreError } from '@incumbent/core';
import { MemoryServer, type MemoryStore } from '@incumbent/memory';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { waitForHandover } from '../src/commands/operate/term.ts';
import { Operator } from '../src/ui/operate.ts';

let server: MemoryServer;
let store: MemoryStore;
let members: Member[];
beforeEach(() => {
  server = new MemoryServer();
  store = server.connect();
  members = [];
});
afterEach(async () => {
  await Promise.all(members.map((member) => member.close()));
  await server.close();
});

/** A member, and the store that it uses. */
function connected(memberId: string): readonly [Member, MemoryStore] {
  const own = server.connect();
  const member = new Member(own, { memberId });
  members.push(member);
  return [member, own];
}

async function untilQueued(memberId: string): Promise<void> {
  await expect.poll(() => server.keys().some((key) => key.includes(`candidates/${memberId}~`))).toBe(true);
}

/** Lets the reads of the queue fail that come after `skip` others. */
function failReads(skip: number, count: number): void {
  const list = store.list.bind(store);
  let reads = 0;
  store.list = async (...args) => {
    reads += 1;
    if (reads > skip && reads <= skip + count) throw new StoreError('TIMEOUT', 'unknown', 'no answer');
    return list(...args);
  };
}

it('a handover goes on after reads have failed', async () => {
  const leadership = await connected('a')[0].election('db').campaign();
  leadership.waitUntil(leadership.ended);
  const next = connected('b')[0].election('db').campaign();
  await untilQueued('b');
  // The first read chooses the candidate.
  failReads(1, 3);
  expect(await new Operator(store).handover('db', 1n, 'b')).toEqual({ ok: true, text: 'b leads in term 2.' });
  await next;
});

it('a handover that does not happen in time is withdrawn, although reads fail', async () => {
  const [leader, away] = connected('a');
  await leader.election('db').campaign();
  void connected('b')[0]
    .election('db')
    .campaign()
    .catch(() => {});
  await untilQueued('b');
  away.link.cutOff();
  const admin = new ElectionAdmin(store, 'db');
  expect(await admin.requestHandover(1n, 'b')).toBe(true);
  failReads(0, Infinity);
  expect(await waitForHandover(admin, 1n, 200)).toBe('withdrawn');
  away.link.heal();
});

it('a leader that has begun to stop its work hands over although the request is withdrawn, and the page says so', async () => {
  const leadership = await connected('a')[0].election('db').campaign();
  const work = Promise.withResolvers<void>();
  leadership.waitUntil(work.promise);
  const next = connected('b')[0].election('db').campaign();
  await untilQueued('b');
  const { steps } = await new Operator(store).preview('db', 'b');
  expect(steps.at(-1)).toBe(
    'If a has not handed over within 30s, the request is withdrawn. If it had begun to stop its work, it still hands over.',
  );
  const admin = new ElectionAdmin(store, 'db');
  expect(await admin.requestHandover(1n, 'b')).toBe(true);
  await leadership.ended;
  expect(await waitForHandover(admin, 1n, 0)).toBe('withdrawn');
  work.resolve();
  expect(await next).toMatchObject({ memberId: 'b', term: 2n });
});
