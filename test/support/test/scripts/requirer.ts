// Tells whether etcd can be had, or how the question failed.
import { emit, requireStore } from '@incumbent/test-support';

try {
  emit('answer', { available: await requireStore({ store: 'etcd', own: process.argv.includes('--own') }) });
} catch (error) {
  emit('failure', { message: String(error) });
}
