/**
 * A process that waits behind blocked leaders, one in each election. Started by `startRival` of
 * `checks/blocked-leader.ts`. Arguments: the store's URL, and the names of the elections.
 */

import diagnosticsChannel from 'node:diagnostics_channel';

import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { Member, openStore } from 'incumbent';

import { emitTelemetry, leadershipIn } from './leading.ts';

const [url = 'memory:', ...elections] = process.argv.slice(2);

emitTelemetry();
diagnosticsChannel.subscribe('incumbent:waiting', (fields) => emit('waiting', leadershipIn(fields)));

const store = await openStore(url);
const member = new Member(store, { memberId: 'rival' });
process.once('SIGTERM', () => void member.close().then(() => store.close()));

for (const election of elections)
  member
    .election(election, weakStore(store))
    .lead(async ({ term, ended }) => {
      emit('elected', { election, term });
      const { reason } = await ended;
      emit('ended', { election, term, reason });
    })
    .catch(() => {});
