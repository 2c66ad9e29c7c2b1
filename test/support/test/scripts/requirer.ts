// Tells whether a store can be had, or how the question failed.
import { requireStore } from '@incumbent/test-support';
import { emit } from '@incumbent/test-support/child';

const store = process.argv.includes('--zookeeper') ? 'zookeeper' : 'etcd';
try {
  emit('answer', { available: await requireStore({ store, own: process.argv.includes('--own') }) });
} catch (error) {
  emit('failure', { message: String(error) });
}
