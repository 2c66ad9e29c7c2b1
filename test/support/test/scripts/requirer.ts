// Tells whether a store can be had, or how the question failed.
import { emit, requireStore } from '@incumbent/test-support';

const store = process.argv.includes('--zookeeper') ? 'zookeeper' : 'etcd';
try {
  emit('answer', { available: await requireStore({ store, own: process.argv.includes('--own') }) });
} catch (error) {
  emit('failure', { message: String(error) });
}
