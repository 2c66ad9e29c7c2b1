/**
 * Processes with a reaper that die in various ways. They use etcd, where nothing else ends their
 * leases before the ttl.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupIsGone } from 'incumbent';
import {
  requireStore,
  spawnScript,
  startEtcd,
  until,
  type EtcdServer,
  type ScriptEvent,
  type ScriptProcess,
} from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { now } from './history.ts';
import { at, freshNamespace, storeUrl } from './checks/pair.ts';

const MORTAL = new URL('./mortal.ts', import.meta.url);
const HASTY = new URL('./hasty.ts', import.meta.url);
const TTL_MS = 10_000;
/**
 * Well before the end of the ttl, and well after any reaper has finished, even on a busy machine.
 */
const PROMPT_MS = 6_000;
const DEADLINE_MS = 30_000;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function spawnMember(
  url: string,
  id: string,
  fate = 'waits',
  ttlMs = TTL_MS,
  env: Record<string, string> = {},
): Promise<ScriptProcess> {
  return spawnScript(MORTAL, { args: [url, id, String(ttlMs), fate], env });
}

/** Starts a process that leads and has a reaper. */
async function startLeader(url: string, fate: string, ttlMs = TTL_MS, env: Record<string, string> = {}): Promise<ScriptProcess> {
  const script = await spawnMember(url, 'a', fate, ttlMs, env);
  await Promise.all([script.waitFor('elected', { withinMs: DEADLINE_MS }), script.waitFor('reaperReady', { withinMs: DEADLINE_MS })]);
  return script;
}

/** Starts a process that waits behind the leader. */
async function startWaiting(url: string, ttlMs = TTL_MS): Promise<ScriptProcess> {
  const script = await spawnMember(url, 'b', 'waits', ttlMs);
  await script.waitFor('waiting', { withinMs: DEADLINE_MS });
  return script;
}

function reaperOf(script: ScriptProcess): number {
  const ready = script.events.findLast(({ event }) => event === 'reaperReady');
  return Number(ready?.fields['pid'] ?? expect.unreachable('there is no reaper'));
}

async function waitForExit(pid: number): Promise<void> {
  await until(() => !isAlive(pid), { what: `the end of the process ${pid}`, withinMs: DEADLINE_MS });
}

async function electedAt(script: ScriptProcess, withinMs = DEADLINE_MS): Promise<number> {
  return at(await script.waitFor('elected', { withinMs }));
}

function beatsOf(script: ScriptProcess): readonly ScriptEvent[] {
  return script.events.filter(({ event }) => event === 'heartbeat');
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a leader with a reaper', () => {
  let etcd: EtcdServer;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  function fresh(): string {
    return storeUrl([etcd.url], freshNamespace());
  }

  it.each([
    ['throws an uncaught error', 'throws', {}],
    ['runs out of memory', 'fills its memory', { NODE_OPTIONS: '--max-old-space-size=48' }],
    ['calls process.exit without closing anything', 'exits', {}],
    ['is killed', 'waits', {}],
  ])('that %s is followed at once', async (_, fate, env) => {
    const url = fresh();
    await using first = await startLeader(url, fate, TTL_MS, env);
    await using second = await startWaiting(url);
    if (fate === 'waits') first.sigkill();
    else first.sigusr2();
    await first.exited;
    const endedAt = now();
    expect((await electedAt(second)) - endedAt).toBeLessThan(PROMPT_MS);
    await waitForExit(reaperOf(first));
  });

  it('that has children is followed at once, and the children continue', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'has children');
    await using second = await startWaiting(url);
    const ofKind = (kind: string) => beatsOf(first).find(({ fields }) => fields['name'] === kind);
    const found = () => ['fork', 'inherit', 'cluster'].map(ofKind);
    await until(() => found().every((one) => one !== undefined), { what: 'three children', withinMs: DEADLINE_MS });
    const children = found().map((one) => Number(one?.fields['pid']));
    try {
      const killedAt = now();
      first.sigkill();
      expect((await electedAt(second)) - killedAt).toBeLessThan(PROMPT_MS);
      // Node ends a cluster's worker with its primary; the two other children continue.
      expect(children.slice(0, 2).map(isAlive)).toEqual([true, true]);
    } finally {
      for (const child of children.filter(isAlive)) process.kill(child, 'SIGKILL');
    }
  });

  it('that is stopped keeps its lease until the ttl, and its reaper waits', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await startLeader(url, 'waits', ttlMs);
    await using second = await startWaiting(url, ttlMs);
    const stoppedAt = now();
    first.sigstop();
    expect((await electedAt(second)) - stoppedAt).toBeGreaterThan(ttlMs / 4);
    expect(isAlive(reaperOf(first))).toBe(true);
    first.sigcont();
    await first.waitFor('ended', { withinMs: DEADLINE_MS });
  });

  it('continues when its reaper is killed, and a new reaper ends its lease at its death', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'waits');
    await using second = await startWaiting(url);
    const [former, from] = [reaperOf(first), first.events.length];
    process.kill(former, 'SIGKILL');
    await first.waitFor('reaperLost', { withinMs: DEADLINE_MS, from });
    await first.waitFor('reaperReady', { withinMs: DEADLINE_MS, from });
    expect(reaperOf(first)).not.toBe(former);
    expect(first.events.map(({ event }) => event)).not.toContain('ended');
    const killedAt = now();
    first.sigkill();
    expect((await electedAt(second)) - killedAt).toBeLessThan(PROMPT_MS);
  });

  it('is followed within its ttl when its reaper is killed at the same time', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await startLeader(url, 'waits', ttlMs);
    await using second = await startWaiting(url, ttlMs);
    const killedAt = now();
    process.kill(reaperOf(first), 'SIGKILL');
    first.sigkill();
    const nextMs = (await electedAt(second)) - killedAt;
    expect(nextMs).toBeGreaterThan(ttlMs / 4);
    expect(nextMs).toBeLessThan(ttlMs + 3_000);
  });

  it('keeps its reaper when a terminal or a supervisor signals the reaper', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'waits');
    const pid = reaperOf(first);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.kill(pid, signal);
    await sleep(500);
    expect(isAlive(pid)).toBe(true);
    expect(first.events.map(({ event }) => event)).not.toContain('reaperLost');
  });

  it('does not count as dead when the pipe is closed by mistake', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await startLeader(url, 'closes the pipe by mistake', ttlMs);
    await using second = await startWaiting(url, ttlMs);
    first.sigusr2();
    expect((await first.waitFor('closing', { withinMs: DEADLINE_MS })).fields['pipes']).toBe(1);
    await sleep(2 * ttlMs);
    expect(first.events.map(({ event }) => event)).not.toContain('ended');
    expect(second.events.map(({ event }) => event)).not.toContain('elected');
  });

  it('has no reaper any more when it has closed', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'waits');
    const pid = reaperOf(first);
    first.sigterm();
    await first.waitFor('closed', { withinMs: DEADLINE_MS });
    expect(isAlive(pid)).toBe(false);
    expect(await first.exited).toBe(0);
    expect(first.events.map(({ event }) => event)).not.toContain('reaperLost');
  });

  it('passes secrets neither in the arguments nor in the environment of its reaper', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'waits', TTL_MS, { INCUMBENT_STORE: url, HUNTER: 'hunter2' });
    const pid = reaperOf(first);
    const seen = ['cmdline', 'environ'].map((what) => readFileSync(`/proc/${pid}/${what}`, 'latin1')).join('\n');
    expect(seen).toContain('incumbent-reaper');
    expect(seen).not.toContain('hunter2');
    expect(seen).not.toContain(new URL(etcd.url).host);
  });

  it('has its whole group killed before another member leads, also a process that ignores SIGTERM', async () => {
    const url = fresh();
    await using first = await startLeader(url, 'has a group');
    const names = () => new Set(beatsOf(first).map(({ fields }) => fields['name']));
    await until(() => names().size === 2, { what: 'both of the group', withinMs: DEADLINE_MS });
    await using second = await startWaiting(url);
    const before = beatsOf(first).length;
    await until(() => beatsOf(first).length > before, { what: 'a group that still runs', withinMs: DEADLINE_MS });
    const killedAt = now();
    first.sigkill();
    const nextAt = await electedAt(second);
    await first.exited;
    const lastAt = Math.max(...beatsOf(first).map(at));
    expect(lastAt).toBeLessThan(nextAt);
    expect(nextAt - killedAt).toBeLessThan(PROMPT_MS);
  });

  it('has its group killed when its lease was revoked, although its work is stuck', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await startLeader(url, 'has a group, and is stuck', ttlMs);
    await until(() => beatsOf(first).length > 10, { what: 'the group', withinMs: DEADLINE_MS });
    const group = Number(beatsOf(first)[0]?.fields['group']);
    const leases = (await etcd.ctl(['lease', 'list'])).split('\n').filter((line) => /^[0-9a-f]{8,}$/.test(line));
    expect(leases.length).toBeGreaterThan(0);
    for (const lease of leases) await etcd.ctl(['lease', 'revoke', lease]);
    await first.waitFor('ended', { withinMs: DEADLINE_MS });
    await until(() => groupIsGone(group), { what: 'the end of the group', withinMs: DEADLINE_MS });
    expect(first.running).toBe(true);
  });

  it('has its group killed before another member leads, although the process itself is stopped', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await startLeader(url, 'has a group', ttlMs);
    await until(() => beatsOf(first).length > 10, { what: 'the group', withinMs: DEADLINE_MS });
    await using second = await startWaiting(url, ttlMs);
    first.sigstop();
    const nextAt = await electedAt(second);
    const lastAt = Math.max(...beatsOf(first).map(at));
    expect(lastAt).toBeLessThan(nextAt);
    const [one] = beatsOf(first);
    // A killed process runs no code any more, but needs processor time to disappear.
    await until(() => groupIsGone(Number(one?.fields['group'])), { what: 'the end of the group', withinMs: DEADLINE_MS });
    expect(isAlive(reaperOf(first))).toBe(true);
    first.sigcont();
    await first.waitFor('ended', { withinMs: DEADLINE_MS });
    // Kill it before the second one ends. Otherwise it is elected again, and may die after the
    // group started and before it was bound.
    first.sigkill();
    await first.exited;
  });
});

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a reaper whose store is unavailable', () => {
  it('retries until the store answers', async () => {
    await using etcd = await startEtcd();
    const url = storeUrl([etcd.url], freshNamespace());
    await using first = await startLeader(url, 'waits');
    await using second = await startWaiting(url);
    await etcd.kill('SIGKILL');
    first.sigkill();
    await sleep(2_000);
    await etcd.restart();
    const upAt = now();
    // A restarted server starts the ttl of every lease again.
    expect((await electedAt(second)) - upAt).toBeLessThan(TTL_MS / 2);
    await waitForExit(reaperOf(first));
  });

  it('ends when the lease has expired', async () => {
    const etcd = await startEtcd();
    await using first = await startLeader(storeUrl([etcd.url], freshNamespace()), 'waits', 2_000);
    const pid = reaperOf(first);
    await etcd.stop();
    first.sigkill();
    await sleep(500);
    expect(isAlive(pid)).toBe(true);
    await until(() => !isAlive(pid), { what: 'its end' });
  });
});

describe('a process that dies before its reaper is ready', () => {
  it.each([0, 20, 40, 60, 80, 100, 150, 200])('has its group killed: after %i ms', async (ms) => {
    await using script = await spawnScript(HASTY, { args: [String(ms)] });
    const { fields } = await script.waitFor('bound', { withinMs: DEADLINE_MS });
    await script.exited;
    await until(() => groupIsGone(Number(fields['pid'])), { what: 'the end of the group', withinMs: DEADLINE_MS });
  });
});
