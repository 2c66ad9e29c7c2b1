export { Balancer, type Balanced } from './balancer.ts';
export { accessibilityProblems, requireBrowser, startBrowser } from './browser.ts';
export { dockerCommand } from './engine/docker.ts';
export { composeCommand, type ComposeCommand } from './engine/compose.ts';
export type { ContainerState, Engine } from './engine/engine.ts';
export { findEngine } from './engine/find.ts';
export { startEngine, type OwnEngine, type OwnEngineOptions } from './engine/own.ts';
export { useEngine, type UsedEngine } from './engine/use.ts';
export { findFakeClock } from './fake-clock.ts';
export { buildImage } from './images/build.ts';
export { digestsOf, imagesIn, pinImages } from './images/pin.ts';
export { languageCommand, requireLanguage, type Language, type LanguageCommand } from './languages.ts';
export { outcomeOf, type Outcome, type OutcomeOptions } from './outcome.ts';
export { canBePidOne, signalPidOne, spawnAsPidOne } from './pid-one.ts';
export { freePort, hostOf, listenAnywhere, LOOPBACK } from './ports.ts';
export { spawnScript, type ScriptEvent, type ScriptProcess, type SpawnOptions, type WaitOptions } from './processes.ts';
export { startProxy, type DirectedOptions, type FaultOptions, type Proxy, type ProxyStats, type Scope } from './proxy.ts';
export { DROP, HOLD, PASS, PASS_ALL, type Direction, type Rule, type Rules } from './proxy/rules.ts';
export type { ProxyTarget } from './proxy/target.ts';
export type { TrapOptions } from './proxy/trap.ts';
export { promtool, requirePromtool } from './promtool.ts';
export { retainedBytes } from './retained.ts';
export { run, type RunOptions } from './run.ts';
export { stall } from './stall.ts';
export { makeScratch, type Scratch } from './scratch.ts';
export { cached } from './servers/cache.ts';
export { clusterFaults, type ClusterFaults } from './servers/cluster-faults.ts';
export { type Certificates, type KeyPair, makeCertificates } from './servers/certificates.ts';
export { startConsul, startConsulCluster, type ConsulClusterOptions } from './servers/consul/cluster.ts';
export type { Consul, ConsulCluster, ConsulClusterServer, ConsulOptions, ConsulServer } from './servers/consul/types.ts';
export { startEtcd, startEtcdCluster, type EtcdClusterOptions } from './servers/etcd/cluster.ts';
export type { Etcd, EtcdCluster, EtcdClusterServer, EtcdOptions, EtcdServer } from './servers/etcd/types.ts';
export { composeImages } from './servers/images.ts';
export { uniqueNamespace } from './servers/namespace.ts';
export { unpackedPackages, type PackagesOptions } from './servers/packages.ts';
export { programsOf } from './servers/programs.ts';
export { startKubernetesEtcd } from './servers/kubernetes/etcd.ts';
export { startKubernetes } from './servers/kubernetes/server.ts';
export { KEYS_GROUP, type KubernetesOptions, type KubernetesServer } from './servers/kubernetes/types.ts';
export { startPostgresCluster, type PostgresClusterOptions } from './servers/postgres/cluster.ts';
export { requirePgBouncer, startPgBouncer, type PoolerOptions } from './servers/postgres/pooler.ts';
export { startPostgres } from './servers/postgres/server.ts';
export type { Postgres, PostgresCluster, PostgresOptions, PostgresServer } from './servers/postgres/types.ts';
export { startSentinels, type RedisSentinels, type SentinelsOptions } from './servers/redis/sentinels.ts';
export { startRedis } from './servers/redis/server.ts';
export type { Redis, RedisOptions, RedisServer } from './servers/redis/types.ts';
export {
  canBeHad,
  findFreezableDisk,
  requireCompose,
  requireEngine,
  requireFreezableDisk,
  requireStore,
  type RequiredStore,
} from './servers/require.ts';
export { sharedConsul, sharedEtcd, sharedPostgres, sharedRedis, sharedZookeeper } from './servers/shared.ts';
export { StoreUnavailable } from './servers/source.ts';
export type { Credentials, Faults, StoreVersion } from './servers/types.ts';
export { startZookeeper, startZookeeperCluster, type ZookeeperClusterOptions } from './servers/zookeeper/cluster.ts';
export { ZookeeperRequests } from './servers/zookeeper/requests.ts';
export { fourLetterWord, type FourLetterWord } from './servers/zookeeper/four-letter-word.ts';
export type { Zookeeper, ZookeeperCluster, ZookeeperClusterServer, ZookeeperOptions, ZookeeperServer } from './servers/zookeeper/types.ts';
export { setting } from './settings.ts';
export { isStopped } from './stopped.ts';
export { supervise } from './supervise.ts';
export { canUnshare, isSkipped } from './unshare.ts';
export { until, type UntilOptions } from './until.ts';
export type { Cluster, OwnServer, StoreService } from './servers/types.ts';
