/** Elections with a history, for pictures of the page. */

import { until } from '@incumbent/test-support';

import { ShiftedClock, UiPage, type UiPageOptions } from './ui-page.ts';

const MINUTE_MS = 60_000;
/** How long the history is. */
const HISTORY_MS = 9 * MINUTE_MS;

const QUIET = [
  'billing-close',
  'cache-warmer',
  'cron',
  'email-digest',
  'fraud-model-sync',
  'invoice-export',
  'kafka-controller',
  'ledger-compaction',
  'report-builder',
  'search-reindex',
  'session-sweeper',
  'thumbnailer',
] as const;

/** A page on which terms have ended in every way, the last one seconds ago. */
export async function tellStory(options: Omit<UiPageOptions, 'clock'> = {}): Promise<UiPage> {
  const clock = new ShiftedClock(-HISTORY_MS);
  const page = await UiPage.open({ shownUrl: 'memory:shop', ...options, clock });
  const state = (election: string): string => page.model.board.json(`election/${election}`) ?? '';
  const leads = (member: string, election: string): Promise<unknown> =>
    until(() => state(election).includes(`"member":"${member}"`) && state(election).includes('"state":"leader"'), {
      what: `${member} as the leader of ${election}`,
      withinMs: 20_000,
    });
  for (const [index, election] of QUIET.entries()) await page.campaigns(`web-${(index % 4) + 1}`, election);
  const schedulers = ['scheduler-1', 'scheduler-2', 'scheduler-3'] as const;
  for (const [index, member] of schedulers.entries())
    await page.campaigns(member, 'scheduler', { url: `http://10.0.3.${index + 11}:8080`, version: '4.2.1' });
  for (const member of ['ingest-1', 'ingest-2']) await page.campaigns(member, 'ingest');
  const payments = await page.leads('payments-1', 'payments');
  for (const member of ['broker-1', 'broker-2', 'broker-3']) await page.joins(member, 'brokers', { host: `${member}.shop`, rack: 'a' });
  await page.joins('web-1', 'frontends');
  for (const election of [...QUIET, 'scheduler', 'ingest', 'payments'])
    await until(() => state(election).includes('"state":"leader"'), { what: election, withinMs: 20_000 });

  clock.pass(3 * MINUTE_MS);
  await page.closeMember('scheduler-1');
  await leads('scheduler-2', 'scheduler');
  clock.pass(2 * MINUTE_MS);
  await page.campaigns('scheduler-1', 'scheduler', { url: 'http://10.0.3.11:8080', version: '4.2.2' });
  await page.closeMember('ingest-1');
  await leads('ingest-2', 'ingest');
  clock.pass(2.5 * MINUTE_MS);
  await page.closeMember('scheduler-2');
  await leads('scheduler-3', 'scheduler');
  await page.campaigns('scheduler-2', 'scheduler', { url: 'http://10.0.3.12:8080', version: '4.2.2' });
  clock.pass(MINUTE_MS);
  await payments.resign();
  await until(() => state('payments').includes('"state":"vacant"'), { what: 'a vacancy', withinMs: 20_000 });
  clock.pass(0.5 * MINUTE_MS);
  return page;
}
