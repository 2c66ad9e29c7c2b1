import { requireStore } from '@incumbent/test-support';

import { blockedChecks } from './blocked.ts';
import type { Check } from './check.ts';
import { followerCutOff } from './follower.ts';
import { consulAgentCutOff, consulAgentRestart, consulCrash, consulMany } from './consul.ts';
import { consulHost, etcdHost, type Host, postgresHost, redisHost, zookeeperHost } from './hosts.ts';
import { composeCheck } from './compose.ts';
import { containers } from './containers.ts';
import { cronSlots } from './cron-slots.ts';
import { redisForged } from './forged.ts';
import { idle, massLoss } from './cost.ts';
import {
  consulFailoverRequests,
  etcdFailoverRequests,
  kubernetesFailoverRequests,
  postgresFailoverRequests,
  redisFailoverRequests,
  zookeeperFailoverRequests,
} from './failover-requests.ts';
import { failoverTraces } from './failover-traces.ts';
import { hostileServers } from './hostile.ts';
import { isValid } from './is-valid.ts';
import { kubernetesEtcdChecks } from './kubernetes.ts';
import { kubernetesCrowd } from './kubernetes-crowd.ts';
import { kubernetesHost } from './kubernetes-host.ts';
import { kafkaEtcd, kafkaSqlite } from './kafka.ts';
import { postgresManyElections, redisManyElections } from './many-elections.ts';
import { redisOldPrimary } from './old-primary.ts';
import { redisPlannedFailover } from './planned-failover.ts';
import { etcdOneWayCut } from './one-way.ts';
import { migrateChecks } from './migrate.ts';
import { operatorDelete, operatorDeleteCutOff, operatorRevoke } from './operator.ts';
import { clusterKill, serverKill } from './outages.ts';
import { claimTimeout } from './claim-timeout.ts';
import { blackhole, crash, sigstop } from './pauses.ts';
import { etcdRaftLeaderDeposed, raftLeaderPaused } from './raft-leader.ts';
import { reaperChecks, reaperMemory } from './reaper.ts';
import { peerBestEffort } from './peer-best-effort.ts';
import { peerEmergent, peerEmergentHundred } from './peer-emergent.ts';
import { peerSimulation } from './peer-simulation.ts';
import { peerVoteFile } from './peer-vote-file.ts';
import { peerKills } from './peers.ts';
import { postgresFence } from './postgres-fence.ts';
import { postgresLossyPromotion, postgresPromotion } from './postgres-promotion.ts';
import { postgresRenewals } from './postgres-renewals.ts';
import { runPaused } from './run.ts';
import { rollingDeploy } from './rolling-deploy.ts';
import { runPeers } from './run-peers.ts';
import { simulations } from './simulation.ts';
import { serveClients } from './serve.ts';
import { serveCrowd } from './serve-crowd.ts';
import { serveDeadlinesEtcd, serveDeadlinesSqlite } from './serve-deadlines.ts';
import { uiManyElections } from './ui.ts';
import { zookeeperSilentServer } from './silent-server.ts';
import { etcdSilentWatch } from './silent-watch.ts';
import { etcdSingleEndpoint } from './single-endpoint.ts';
import { sqliteHandover, sqliteIdle, sqliteKill, sqliteReads, sqliteStorm } from './sqlite.ts';
import { zookeeperIdle, zookeeperManyElections, zookeeperRestarts } from './zookeeper.ts';

/** The faults that every store with a server goes through. */
function faultsOn(host: Host): readonly Check[] {
  return [blackhole, sigstop, operatorDelete, operatorDeleteCutOff, serverKill].map((check) => check(host));
}

const etcdChecks: readonly Check[] = [
  ...faultsOn(etcdHost),
  clusterKill(etcdHost),
  raftLeaderPaused(etcdHost, 'etcd'),
  etcdRaftLeaderDeposed,
  etcdOneWayCut,
  operatorRevoke,
  claimTimeout,
  massLoss,
  etcdFailoverRequests,
  failoverTraces,
  etcdSilentWatch,
  etcdSingleEndpoint,
  idle,
  isValid,
  kafkaEtcd,
  runPaused,
  reaperChecks.etcd,
];

const sqliteChecks: readonly Check[] = [sqliteKill, sqliteHandover, sqliteStorm, sqliteReads, sqliteIdle, kafkaSqlite, reaperChecks.sqlite];

const peerChecks: readonly Check[] = [peerKills, peerVoteFile];

const postgresChecks: readonly Check[] = [
  ...faultsOn(postgresHost),
  crash(postgresHost),
  postgresFailoverRequests,
  postgresFence,
  postgresManyElections,
  postgresPromotion,
  postgresLossyPromotion,
  reaperChecks.postgres,
];

const redisChecks: readonly Check[] = [
  ...faultsOn(redisHost),
  crash(redisHost),
  redisFailoverRequests,
  redisManyElections,
  redisOldPrimary,
  redisPlannedFailover,
  redisForged,
  reaperChecks.redis,
];

const zookeeperChecks: readonly Check[] = [
  ...faultsOn(zookeeperHost),
  clusterKill(zookeeperHost),
  followerCutOff,
  zookeeperFailoverRequests,
  zookeeperIdle,
  zookeeperManyElections,
  zookeeperRestarts,
  zookeeperSilentServer,
  reaperChecks.zookeeper,
];

const consulChecks: readonly Check[] = [
  ...faultsOn(consulHost),
  clusterKill(consulHost),
  raftLeaderPaused(consulHost, 'consul'),
  consulCrash,
  consulAgentCutOff,
  consulAgentRestart,
  consulFailoverRequests,
  consulMany,
  reaperChecks.consul,
];

function needsApiServer(): Promise<boolean> {
  return requireStore({ store: 'kubernetes', own: true });
}

const kubernetesChecks: readonly Check[] = [
  ...faultsOn(kubernetesHost),
  ...kubernetesEtcdChecks,
  crash(kubernetesHost),
  kubernetesFailoverRequests,
  reaperChecks.kubernetes,
].map((check) => ({ ...check, canRun: needsApiServer }));

const hostileChecks: readonly Check[] = [hostileServers];

/** The checks that CI runs once each, in groups that run side by side. */
export const groups = {
  consul: consulChecks,
  etcd: etcdChecks,
  hostile: hostileChecks,
  kubernetes: kubernetesChecks,
  peer: peerChecks,
  postgres: postgresChecks,
  redis: redisChecks,
  sqlite: sqliteChecks,
  zookeeper: zookeeperChecks,
} as const;

export const checks: readonly Check[] = [
  ...consulChecks,
  ...etcdChecks,
  ...hostileChecks,
  ...kubernetesChecks,
  ...peerChecks,
  ...postgresChecks,
  ...redisChecks,
  ...sqliteChecks,
  ...zookeeperChecks,
  postgresRenewals,
  ...blockedChecks,
  containers,
  composeCheck,
  cronSlots,
  kubernetesCrowd,
  ...migrateChecks,
  rollingDeploy(etcdHost),
  { ...rollingDeploy(kubernetesHost), canRun: needsApiServer },
  rollingDeploy(redisHost),
  runPeers,
  serveClients,
  serveCrowd,
  serveDeadlinesEtcd,
  serveDeadlinesSqlite,
  uiManyElections,
  reaperMemory,
  ...simulations,
  peerSimulation,
  ...peerBestEffort,
  peerEmergent,
  peerEmergentHundred,
];
