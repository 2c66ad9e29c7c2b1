// Uses the shared etcd for one write and one mistake, and ends without stopping anything.
import { emit, sharedEtcd } from '@incumbent/test-support';

const etcd = await sharedEtcd();
const key = process.argv[2] ?? '';
const written = await etcd.ctl(['put', key, 'value']);
const mistake = await etcd.ctl(['no-such-command']).catch((error: unknown) => String(error));
emit('shared', { url: etcd.url, version: etcd.version, written, mistake });
process.exit();
