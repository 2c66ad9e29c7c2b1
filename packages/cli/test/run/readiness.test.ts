import { Member, StoreError } from '@incumbent/core';
import { TestCluster } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { Readiness } from '../../src/run/readiness.ts';

it('a process that is not ready says why', async () => {
  const cluster = new TestCluster();
  const { store, options } = cluster.process('a');
  const grant = store.grantLease.bind(store);
  store.grantLease = () => Promise.reject(new StoreError('UNREACHABLE', 'notSent', 'connect ECONNREFUSED 10.0.0.1:2379'));
  const member = new Member(store, { ttlMs: 10_000, ...options });
  using readiness = new Readiness();
  expect([readiness.lease, readiness.reason]).toEqual(['idle', 'the store is not open']);
  readiness.storeFailed(new StoreError('TIMEOUT', 'notSent', 'no answer from 10.0.0.1:2379'));
  expect(readiness.reason).toBe('the store is not open: a call to the store failed with TIMEOUT, see the log');
  readiness.follow(member);
  expect(readiness.reason).toBe('there is no lease');
  const campaign = member.election('db').campaign();
  await cluster.advance(1_000);
  // Without the address.
  expect(readiness.reason).toBe('there is no lease: a call to the store failed with UNREACHABLE, see the log');
  store.grantLease = grant;
  await cluster.advance(20_000);
  await campaign;
  expect(readiness.reason).toBeUndefined();
  store.renewLease = () => Promise.reject(new StoreError('TIMEOUT', 'unknown', 'no answer'));
  await cluster.advance(5_000);
  expect(readiness.reason).toBe('a renewal of the lease is overdue: a call to the store failed with TIMEOUT, see the log');
  await member.close();
  expect(readiness.reason).toBe('the process is about to stop');
});

it('a process that has waited for the lease of its former process no longer says so after a loss', async () => {
  const cluster = new TestCluster();
  const former = cluster.process('former');
  const formerMember = new Member(former.store, { ttlMs: 10_000, ...former.options, memberId: 'a' });
  await cluster.run(formerMember.election('db').campaign());
  former.store.link.cutOff();
  const { store, options } = cluster.process('a');
  const member = new Member(store, { ttlMs: 10_000, ...options });
  using readiness = new Readiness();
  readiness.follow(member);
  const campaign = member.election('db').campaign();
  await cluster.advance(5_000);
  expect(readiness.reason).toBe('there is no lease: another process holds the member id, and its lease must end first');
  await cluster.run(campaign);
  expect(readiness.reason).toBeUndefined();
  cluster.clock.advanceWall(60_000);
  expect(readiness.reason).toBe('there is no lease');
  former.store.link.heal();
  await cluster.run(Promise.all([formerMember.close(), member.close()]));
});
