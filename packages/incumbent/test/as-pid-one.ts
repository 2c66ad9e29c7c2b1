/** A program of one call whose work ignores its end. Arguments: the store's URL. */

import { emit } from '@incumbent/test-support/child';
import { lead } from 'incumbent';

const [url = ''] = process.argv.slice(2);
const work = async ({ ended }: { readonly ended: Promise<unknown> }): Promise<void> => {
  emit('leads', { pid: process.pid });
  await ended;
  emit('ended');
  setInterval(() => {}, 60_000);
  await new Promise(() => {});
};
await lead(url, 'cron', work, { waitMs: Infinity, onRetry: () => emit('waits', { pid: process.pid }) });
