export { emit } from './child.ts';
export { freePort, LOOPBACK } from './ports.ts';
export { spawnScript, type ScriptEvent, type ScriptProcess, type SpawnOptions, type WaitOptions } from './processes.ts';
export { startProxy, type DirectedOptions, type FaultOptions, type Proxy, type ProxyStats, type Scope } from './proxy.ts';
export { DROP, HOLD, PASS, PASS_ALL, type Direction, type Rule, type Rules } from './proxy/rules.ts';
export type { ProxyTarget } from './proxy/target.ts';
export type { TrapOptions } from './proxy/trap.ts';
export { makeScratch, type Scratch } from './scratch.ts';
export type { Certificates, KeyPair } from './servers/certificates.ts';
export { startEtcd, startEtcdCluster, type EtcdClusterOptions } from './servers/etcd/cluster.ts';
export { sharedEtcd, type SharedEtcdOptions } from './servers/etcd/shared.ts';
export type {
  Credentials,
  Etcd,
  EtcdCluster,
  EtcdClusterServer,
  EtcdOptions,
  EtcdServer,
  EtcdVersion,
  Faults,
  OwnEtcd,
} from './servers/etcd/types.ts';
export { uniqueNamespace } from './servers/namespace.ts';
export { requireStore, type RequiredStore } from './servers/require.ts';
export { StoreUnavailable } from './servers/source.ts';
export { until, type UntilOptions } from './until.ts';
