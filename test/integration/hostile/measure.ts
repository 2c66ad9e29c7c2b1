/** A client process under one attack of one hostile server. */

import assert from 'node:assert/strict';
import { spawnScript, type ScriptEvent } from '@incumbent/test-support';
import { hostileConsul } from './consul.ts';
import { hostileEtcd } from './etcd.ts';
import { hostilePostgres } from './postgres.ts';
import { hostileRedis } from './redis.ts';
import { ATTACKS, type Attack, type HostileServer } from './server.ts';
import { hostileZookeeper } from './zookeeper.ts';

const SERVERS = {
  etcd: hostileEtcd,
  zookeeper: hostileZookeeper,
  consul: hostileConsul,
  postgres: hostilePostgres,
  redis: hostileRedis,
} as const;
type ServerName = keyof typeof SERVERS;

const CLIENT = new URL('client.ts', import.meta.url);
const HTTP2_FLOOR = new URL('http2-floor.ts', import.meta.url);
/**
 * How long the client uses the store, and how much longer it may take to report its measurements.
 */
const LASTS_MS = 4_000;
const WAIT_MS = 30_000;

interface Case {
  readonly name: ServerName;
  readonly attack: Attack;
}

export const CASES: readonly Case[] = (['etcd', 'zookeeper', 'consul', 'postgres', 'redis'] as const).flatMap((name) =>
  ATTACKS.map((attack) => ({ name, attack })),
);

/**
 * The first five cases have one attack each and several stores. Has no common divisor with the
 * number of cases, so that as many runs as there are cases meet each of them.
 */
const STRIDE = 7;

/** The case of the run with this index. */
export function caseOf(index: number): Case {
  const one = CASES[(index * STRIDE) % CASES.length];
  assert.ok(one !== undefined);
  return one;
}

interface Measured {
  /** How much the process grew at its peak, in MiB: resident, and outside of the heap. */
  readonly rssMiB: number;
  readonly externalMiB: number;
  /** The longest processor time of one turn of the event loop, in ms. */
  readonly blockedMs: number;
  /** The longest delay of the event loop, including the time of other processes, in ms. */
  readonly delayMs: number;
  /** How many calls ended with each code, or with `done`. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/**
 * Rejects if the client ends, reports an error without a code, or is not served after the attack.
 * `entry`: the package that is measured.
 */
export async function measure({ name, attack }: Case, entry = 'incumbent'): Promise<Measured> {
  await using server: HostileServer = await SERVERS[name]();
  await using client = await spawnScript(CLIENT, { args: [server.url, String(LASTS_MS), entry] });
  await client.waitFor('warm', { withinMs: WAIT_MS });
  server.become(attack);
  client.sigusr2();
  const measured = readMeasured(await client.waitFor('measured', { withinMs: LASTS_MS + WAIT_MS }));
  assert.deepEqual(
    client.events.filter(({ event }) => event === 'noCode').map(({ fields }) => fields['error']),
    [],
    'an error without a code',
  );
  server.become(undefined);
  client.sigusr2();
  await client.waitFor('recovered', { withinMs: WAIT_MS });
  return measured;
}

/**
 * By how many MiB a process grows that reads the long answers of a hostile etcd over Node's HTTP/2,
 * and discards them.
 */
export async function measureHttp2Floor(): Promise<number> {
  await using server: HostileServer = await hostileEtcd();
  server.become('endless body');
  const { host } = new URL(server.url);
  await using client = await spawnScript(HTTP2_FLOOR, { args: [`http://${host}`, String(LASTS_MS)] });
  await client.waitFor('warm', { withinMs: WAIT_MS });
  client.sigusr2();
  const { fields } = await client.waitFor('measured', { withinMs: LASTS_MS + WAIT_MS });
  return Number(fields['rssMiB']);
}

function readMeasured({ fields }: ScriptEvent): Measured {
  const { codes } = fields;
  const outcomes =
    typeof codes === 'object' && codes !== null ? Object.entries(codes).map(([code, count]) => [code, Number(count)] as const) : [];
  return {
    rssMiB: Number(fields['rssMiB']),
    externalMiB: Number(fields['externalMiB']),
    blockedMs: Number(fields['blockedMs']),
    delayMs: Number(fields['delayMs']),
    outcomes: Object.fromEntries(outcomes),
  };
}
