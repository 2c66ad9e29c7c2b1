// Uses the shared store of this name for one write and one mistake, and ends without stopping
// anything.
import { sharedConsul, sharedEtcd, sharedZookeeper } from '@incumbent/test-support';
import { emit } from '@incumbent/test-support/child';

const uses = {
  consul: { shared: sharedConsul, write: (key: string) => ['kv', 'put', key, 'value'], mistake: ['kv', 'get', 'no-such-key'] },
  etcd: { shared: sharedEtcd, write: (key: string) => ['put', key, 'value'], mistake: ['no-such-command'] },
  zookeeper: { shared: sharedZookeeper, write: (key: string) => ['create', `/${key}`, 'value'], mistake: ['get', '/no-such-key'] },
};

const [store, key = ''] = process.argv.slice(2);
const use = Object.entries(uses).find(([name]) => name === store)?.[1] ?? uses.etcd;
const shared = await use.shared();
const written = await shared.ctl(use.write(key));
const mistake = await shared.ctl(use.mistake).catch(String);
emit('shared', { url: shared.url, version: shared.version, written, mistake });
process.exit();
