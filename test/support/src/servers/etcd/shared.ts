import { setting } from '../../settings.ts';
import { askBroker, hasBroker } from '../broker/client.ts';
import { startEtcd } from './cluster.ts';
import { externalEtcd } from './external.ts';
import type { Etcd, EtcdVersion } from './types.ts';

export interface SharedEtcdOptions {
  /** 'default' by default. */
  readonly version?: EtcdVersion;
}

const shared = new Map<EtcdVersion, Promise<Etcd>>();

/**
 * An etcd that many tests use at once, so each must keep to a namespace of its own, and none may harm it: the one at
 * `INCUMBENT_TEST_ETCD`; else one for the whole run, where the run's setup is `setup.ts`; else one for this process. It is started when
 * it is first asked for. Throws `StoreUnavailable` where none can be had.
 */
export function sharedEtcd({ version = 'default' }: SharedEtcdOptions = {}): Promise<Etcd> {
  const known = shared.get(version) ?? find(version);
  shared.set(version, known);
  return known;
}

function find(version: EtcdVersion): Promise<Etcd> {
  const external = setting('INCUMBENT_TEST_ETCD');
  if (external !== undefined && version === 'default') return externalEtcd(external);
  return hasBroker() ? brokeredEtcd(version) : startEtcd({ version });
}

async function brokeredEtcd(version: EtcdVersion): Promise<Etcd> {
  const { url, version: exact } = await askBroker({ store: 'etcd', version });
  return {
    url,
    endpoints: [url],
    version: exact,
    ctl: async (args) => (await askBroker({ store: 'etcd', version, ctl: args })).output,
  };
}
