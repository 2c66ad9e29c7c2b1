/** Two jobs that run once per slot, however many processes run this. */

import { setTimeout as sleep } from 'node:timers/promises';
import { FleetCron } from '@incumbent/cron';
import { Cron } from 'croner';
import { Member, openStore } from 'incumbent';

const [url = 'sqlite:./state.db'] = process.argv.slice(2);

const store = await openStore(url);
const member = new Member(store, { ttlMs: 5_000 });
member.shutdownOn('SIGTERM', 'SIGINT');

const cron = new FleetCron(member.election('cron'), {
  onReport: (report) => console.log(`${report.job}: ${report.type}`),
});

// Every slot matters: up to 60 missed ones run late.
cron.add(
  'meter',
  new Cron('* * * * * *', { timezone: 'UTC' }),
  ({ slot, term, isLate }) => {
    console.log(`meter ${slot.toISOString()} in term ${term}${isLate ? ', late' : ''}`);
  },
  { maxLate: 60 },
);

// Only the newest report is worth sending.
cron.add('report', new Cron('*/5 * * * * *', { timezone: 'UTC' }), async ({ slot, term, signal }) => {
  await sleep(500, undefined, { signal });
  console.log(`report ${slot.toISOString()} in term ${term}`);
});

await cron.run();
await member.close();
await store.close();
