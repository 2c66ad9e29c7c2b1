// Uses the shared store of this name for one write and one mistake, and ends without stopping anything.
import { emit, sharedEtcd, sharedZookeeper } from '@incumbent/test-support';

const [store, key = ''] = process.argv.slice(2);
const shared = await (store === 'zookeeper' ? sharedZookeeper() : sharedEtcd());
const written = await shared.ctl(store === 'zookeeper' ? ['create', `/${key}`, 'value'] : ['put', key, 'value']);
const mistake = await shared.ctl(store === 'zookeeper' ? ['get', '/no-such-key'] : ['no-such-command']).catch(String);
emit('shared', { url: shared.url, version: shared.version, written, mistake });
process.exit();
