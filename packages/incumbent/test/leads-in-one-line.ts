/** A program of one call: leads until it is asked to stop. Arguments: the store's URL. */

import { emit } from '@incumbent/test-support/child';
import { lead } from 'incumbent';

const [url = ''] = process.argv.slice(2);
const result = await lead(url, 'cron', async ({ term, ended }) => {
  emit('leads', { term });
  emit('ended', { reason: (await ended).reason });
});
emit('done', { result: String(result) });
