import type { Check } from './check.ts';
import { followerCutOff } from './follower.ts';
import { etcdHost, redisHost, zookeeperHost } from './hosts.ts';
import { failoverRequests, idle, massLoss } from './cost.ts';
import { isValid } from './is-valid.ts';
import { operatorDelete, operatorDeleteCutOff, operatorRevoke } from './operator.ts';
import { clusterKill, serverKill } from './outages.ts';
import { patience } from './patience.ts';
import { blackhole, sigstop } from './pauses.ts';
import { redisCrash } from './redis.ts';
import { simulations } from './simulation.ts';
import { sqliteHandover, sqliteIdle, sqliteKill, sqliteStorm } from './sqlite.ts';

const etcdChecks: readonly Check[] = [
  ...[blackhole, sigstop, operatorDelete, operatorDeleteCutOff, serverKill, clusterKill].map((check) => check(etcdHost)),
  operatorRevoke,
  patience,
  massLoss,
  failoverRequests(etcdHost),
  idle,
  isValid,
];

const sqliteChecks: readonly Check[] = [sqliteKill, sqliteHandover, sqliteStorm, sqliteIdle];

const redisChecks: readonly Check[] = [
  ...[blackhole, sigstop, operatorDelete, operatorDeleteCutOff, serverKill].map((check) => check(redisHost)),
  failoverRequests(redisHost),
  redisCrash,
];

const zookeeperChecks: readonly Check[] = [
  ...[blackhole, sigstop, operatorDelete, operatorDeleteCutOff, serverKill, clusterKill].map((check) => check(zookeeperHost)),
  followerCutOff,
];

/** What CI runs once each, side by side. */
export const groups = { etcd: etcdChecks, redis: redisChecks, sqlite: sqliteChecks, zookeeper: zookeeperChecks } as const;

export const checks: readonly Check[] = [...etcdChecks, ...redisChecks, ...sqliteChecks, ...zookeeperChecks, ...simulations];
