import type { Check } from './check.ts';
import { followerCutOff } from './follower.ts';
import { etcdHost, zookeeperHost } from './hosts.ts';
import { failoverRequests, idle, massLoss } from './cost.ts';
import { isValid } from './is-valid.ts';
import { operatorDelete, operatorDeleteCutOff, operatorRevoke } from './operator.ts';
import { clusterKill, serverKill } from './outages.ts';
import { patience } from './patience.ts';
import { blackhole, sigstop } from './pauses.ts';
import { simulations } from './simulation.ts';
import { sqliteHandover, sqliteIdle, sqliteKill, sqliteStorm } from './sqlite.ts';

export const checks: readonly Check[] = [
  blackhole(etcdHost),
  sigstop(etcdHost),
  operatorDelete(etcdHost),
  operatorDeleteCutOff(etcdHost),
  operatorRevoke,
  serverKill(etcdHost),
  clusterKill(etcdHost),
  patience,
  massLoss,
  failoverRequests,
  idle,
  isValid,
  sqliteKill,
  sqliteHandover,
  sqliteStorm,
  sqliteIdle,
  ...[blackhole, sigstop, operatorDelete, operatorDeleteCutOff, serverKill, clusterKill].map((check) => check(zookeeperHost)),
  followerCutOff,
  ...simulations,
];
