/**
 * A process of one version of a program, for checks of deployments. It campaigns in elections that
 * differ only in their succession. Started by `checks/deployment.ts`. Arguments: the store's URL,
 * the member id, the version, and the names of the elections.
 */

import diagnosticsChannel from 'node:diagnostics_channel';

import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { byVersion, firstComeFirstServed, Member, openStore, type Succession } from 'incumbent';

import { emitTelemetry, leadershipIn, tellWhileLeading } from './leading.ts';

const [url = 'memory:', memberId = 'm', version = '1.0.0', ...names] = process.argv.slice(2);

const successions: Readonly<Record<string, Succession>> = {
  newest: byVersion(version, 'newest'),
  oldest: byVersion(version, 'oldest'),
  plain: firstComeFirstServed(),
};

emitTelemetry();
diagnosticsChannel.subscribe('incumbent:waiting', (fields) => emit('waiting', leadershipIn(fields)));

const store = await openStore(url);
const member = new Member(store, { memberId });
process.once('SIGTERM', () => void stop());

for (const election of names)
  member
    .election(election, { succession: successions[election] ?? firstComeFirstServed(), ...weakStore(store) })
    .lead((leadership) => tellWhileLeading(leadership, 0, election))
    .catch((error: unknown) => emit('failed', { election, error: String(error) }));

async function stop(): Promise<void> {
  await member.shutdown();
  await store.close();
  emit('closed');
}
