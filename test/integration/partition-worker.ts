/**
 * Takes part in 12 partitions until it is asked to stop. Emits `led` for each partition and term,
 * and `holds` with the number of partitions after each change. Arguments: the store's URL.
 */

import { emit } from '@incumbent/test-support/child';
import { Member, openStore, PartitionedElection } from 'incumbent';

const [url = ''] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store);
member.shutdownOn('SIGTERM');
const orders = new PartitionedElection(member, 'orders', { partitions: 12, acceptWeakStore: 'redis' });
await orders.lead(async ({ partition, term, ended }) => {
  emit('led', { partition, term });
  emit('holds', { count: orders.leaderships.length });
  await ended;
  emit('holds', { count: orders.leaderships.length });
});
await store.close();
