/** Scenarios of etcd's election, and of the leases of its clients. */

import assert from 'node:assert/strict';
import { isIncumbentError } from '@incumbent/core';
import { intercept } from '../intercept.ts';
import type { StoreCase } from '../case.ts';
import { endOf, NAME } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';
import { begun } from '../time.ts';
import { LEADER, lost } from './standing-candidate.ts';

const define = electionCasesOf('etcd');
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

export const etcdCases: readonly StoreCase[] = [
  define(
    'B01 three observers see the value of each of three leaders (etcd TestElectionWait)',
    async (arena) => {
      const observers = [];
      for (let i = 0; i < 3; i += 1) observers.push(arena.observer(await arena.open()));
      for (const id of ['a', 'b', 'c']) {
        const leadership = await arena.campaign(await arena.member(id), { value: `${id} leads` });
        for (const observer of observers) {
          await arena.sees(
            observer,
            (view) => view.state === 'leader' && view.memberId === id && view.value === `${id} leads` && view.term === leadership.term,
            `the value of ${id}`,
          );
        }
        await leadership.resign();
      }
    },
    { calm: true },
  ),

  define(
    "B02 the leader's session is ended: the waiting one wins, and a third process sees it (etcd TestElectionFailover)",
    async (arena) => {
      const [a, b] = [await arena.faultyMember('a'), await arena.member('b')];
      const observer = arena.observer(await arena.open());
      const first = await arena.campaign(a, { value: 'one' });
      await arena.sees(observer, (view) => view.state === 'leader' && view.value === 'one', 'the first value');
      const next = arena.campaign(b, { value: 'two' });
      await arena.queued(b);
      await a.faults.cut();
      await arena.sees(observer, (view) => view.state === 'leader' && view.value === 'two', 'the second value', arena.failoverMs(b.store));
      assert.equal((await next).term, arena.term(2n));
      assert.equal(first.isValid(), false);
      await a.faults.heal();
    },
    { faults: ['cut'], calm: true },
  ),

  define(
    "B09 what is not the leader's key is nobody's leadership (etcd TestResumeElection)",
    async (arena) => {
      const operator = arena.operator;
      const strangers = [`elections/${NAME}/leader-of-old`, `elections/${NAME}2/leader`, `elections/${NAME}/notes`];
      const observer = arena.observer(await arena.open());
      await observer.ready;
      for (const key of strangers) await operator.put(key, encode('{"v":1,"term":"99","memberId":"z","incarnation":"0","entry":"x"}'));
      const first = await arena.campaign(await arena.member('a'));
      assert.equal(first.term, arena.term(1n));
      await arena.sees(observer, (view) => view.state === 'leader' && view.memberId === 'a', 'a');
      for (const key of strangers) await operator.put(key, encode('anything'));
      await arena.sleep(arena.ttlMs / 4);
      assert.equal(first.isValid(), true);
      assert.ok(observer.current.state === 'leader' && observer.current.term === first.term);
      await Promise.all(strangers.map((key) => operator.deleteKey(key)));
      await first.resign();
      await arena.sees(observer, (view) => view.state === 'vacant' && view.reason === 'resigned', 'the end');
    },
    { needs: ['operator'], calm: true },
  ),

  define(
    'B12 renewals that arrive and whose answers do not end validity within the ttl, and nobody leads before (etcd TestLeaseKeepAliveTTLTimeout)',
    async (arena) => {
      let deaf = false;
      const store = intercept(await arena.open(), async ({ operation }, go) => {
        const answer = await go();
        if (operation === 'renewLease' && deaf) throw lost('TIMEOUT');
        return answer;
      });
      const a = arena.memberOn(store, 'a');
      const first = await arena.campaign(a);
      const b = await arena.member('b');
      const next = arena.campaign(b);
      await arena.queued(b);
      deaf = true;
      const end = await endOf(arena, first, arena.calmTtlMs + arena.harness.slackMs);
      assert.deepEqual([end.reason, end.lost], ['deadline', true]);
      assert.ok(end.errors.length > 0, 'it tells of the answers that did not come');
      assert.equal((await next).term, arena.term(2n));
    },
    { calm: true },
  ),

  define(
    "B15 the leader's key is written over by a stranger: it ends, publishes nothing over it, and the next one waits for the key to go (microsoft/etcd3 election.test)",
    async (arena) => {
      const operator = arena.operator;
      const [a, b] = [await arena.member('a'), await arena.member('b')];
      const first = await arena.campaign(a, { value: 'one' });
      let elected = false;
      const next = begun(
        arena.campaign(b).then((leadership) => {
          elected = true;
          return leadership;
        }),
      );
      await arena.queued(b);
      const stranger = encode(`{"v":1,"term":"${first.term}","memberId":"z","incarnation":"0","entry":"x","value":"mine"}`);
      await operator.put(LEADER, stranger);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'recordReplaced');
      await assert.rejects(first.publish('two'), (error) => isIncumbentError(error, 'LEADERSHIP_ENDED'));
      await first.released;
      await arena.sleep(arena.ttlMs / 4);
      assert.deepEqual((await b.store.read(LEADER, { timeoutMs: arena.harness.timeoutMs }))?.value, stranger);
      assert.equal(elected, false);
      await operator.deleteKey(LEADER);
      assert.equal((await next).term, arena.term(2n));
    },
    { needs: ['operator'], calm: true },
  ),
];
