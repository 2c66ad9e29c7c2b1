/** Processes that die in every way, with a reaper; on etcd, where nothing else would end their leases before their time. */

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
/** Well before the ttl could be over, and well after any reaper is done, on a busy machine. */
const PROMPT_MS = 6_000;
const WAIT_MS = 30_000;

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function mortal(url: string, id: string, fate = 'waits', ttlMs = TTL_MS, env: Record<string, string> = {}): Promise<ScriptProcess> {
  return spawnScript(MORTAL, { args: [url, id, String(ttlMs), fate], env });
}

/** Leads, and has a reaper. */
async function leader(url: string, fate: string, ttlMs = TTL_MS, env: Record<string, string> = {}): Promise<ScriptProcess> {
  const script = await mortal(url, 'a', fate, ttlMs, env);
  await Promise.all([script.waitFor('elected', { withinMs: WAIT_MS }), script.waitFor('reaperReady', { withinMs: WAIT_MS })]);
  return script;
}

/** Waits behind the leader. */
async function waiting(url: string, ttlMs = TTL_MS): Promise<ScriptProcess> {
  const script = await mortal(url, 'b', 'waits', ttlMs);
  await script.waitFor('waiting', { withinMs: WAIT_MS });
  return script;
}

function reaperOf(script: ScriptProcess): number {
  const ready = script.events.findLast(({ event }) => event === 'reaperReady');
  return Number(ready?.fields['pid'] ?? expect.unreachable('there is no reaper'));
}

async function gone(pid: number): Promise<void> {
  await until(() => !isThere(pid), { what: `the end of the process ${pid}`, withinMs: WAIT_MS });
}

async function electedAt(script: ScriptProcess, withinMs = WAIT_MS): Promise<number> {
  return at(await script.waitFor('elected', { withinMs }));
}

function pulses(script: ScriptProcess): readonly ScriptEvent[] {
  return script.events.filter(({ event }) => event === 'pulse');
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
    ['throws an error that nobody catches', 'throws', {}],
    ['runs out of memory', 'fills its memory', { NODE_OPTIONS: '--max-old-space-size=48' }],
    ['ends by process.exit, and closes nothing', 'exits', {}],
    ['is killed', 'waits', {}],
  ])('that %s is followed at once', async (_, fate, env) => {
    const url = fresh();
    await using first = await leader(url, fate, TTL_MS, env);
    await using second = await waiting(url);
    if (fate === 'waits') first.sigkill();
    else first.sigusr2();
    await first.exited;
    const endedAt = now();
    expect((await electedAt(second)) - endedAt).toBeLessThan(PROMPT_MS);
    await gone(reaperOf(first));
  });

  it('that has children who outlive it is followed at once, and they live on', async () => {
    const url = fresh();
    await using first = await leader(url, 'has children');
    await using second = await waiting(url);
    const ofKind = (kind: string) => pulses(first).find(({ fields }) => fields['name'] === kind);
    const found = () => ['fork', 'inherit', 'cluster'].map(ofKind);
    await until(() => found().every((one) => one !== undefined), { what: 'three children', withinMs: WAIT_MS });
    const children = found().map((one) => Number(one?.fields['pid']));
    try {
      const killedAt = now();
      first.sigkill();
      expect((await electedAt(second)) - killedAt).toBeLessThan(PROMPT_MS);
      // The cluster's worker ends with its primary, as Node has it; the two others do not.
      expect(children.slice(0, 2).map(isThere)).toEqual([true, true]);
    } finally {
      for (const child of children.filter(isThere)) process.kill(child, 'SIGKILL');
    }
  });

  it('that is stopped loses nothing before its time, and its reaper waits with it', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await leader(url, 'waits', ttlMs);
    await using second = await waiting(url, ttlMs);
    const stoppedAt = now();
    first.sigstop();
    expect((await electedAt(second)) - stoppedAt).toBeGreaterThan(ttlMs / 2);
    expect(isThere(reaperOf(first))).toBe(true);
    first.sigcont();
    await first.waitFor('ended', { withinMs: WAIT_MS });
  });

  it('goes on when its reaper is killed; another is started, and does as the first would have done', async () => {
    const url = fresh();
    await using first = await leader(url, 'waits');
    await using second = await waiting(url);
    const [former, from] = [reaperOf(first), first.events.length];
    process.kill(former, 'SIGKILL');
    await first.waitFor('reaperLost', { withinMs: WAIT_MS, from });
    await first.waitFor('reaperReady', { withinMs: WAIT_MS, from });
    expect(reaperOf(first)).not.toBe(former);
    expect(first.events.map(({ event }) => event)).not.toContain('ended');
    const killedAt = now();
    first.sigkill();
    expect((await electedAt(second)) - killedAt).toBeLessThan(PROMPT_MS);
  });

  it('is followed within its ttl when its reaper is killed along with it', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await leader(url, 'waits', ttlMs);
    await using second = await waiting(url, ttlMs);
    const killedAt = now();
    process.kill(reaperOf(first), 'SIGKILL');
    first.sigkill();
    const nextMs = (await electedAt(second)) - killedAt;
    expect(nextMs).toBeGreaterThan(ttlMs / 2);
    expect(nextMs).toBeLessThan(ttlMs + 3_000);
  });

  it('does not mind what is sent to its reaper by a terminal or a supervisor', async () => {
    const url = fresh();
    await using first = await leader(url, 'waits');
    const pid = reaperOf(first);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.kill(pid, signal);
    await sleep(500);
    expect(isThere(pid)).toBe(true);
    expect(first.events.map(({ event }) => event)).not.toContain('reaperLost');
  });

  it('is not taken for dead when the pipe is closed by mistake', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await leader(url, 'closes the pipe by mistake', ttlMs);
    await using second = await waiting(url, ttlMs);
    first.sigusr2();
    expect((await first.waitFor('closing', { withinMs: WAIT_MS })).fields['pipes']).toBe(1);
    await sleep(2 * ttlMs);
    expect(first.events.map(({ event }) => event)).not.toContain('ended');
    expect(second.events.map(({ event }) => event)).not.toContain('elected');
  });

  it('leaves nothing when it closes: the reaper has ended, too', async () => {
    const url = fresh();
    await using first = await leader(url, 'waits');
    const pid = reaperOf(first);
    first.sigterm();
    await first.waitFor('closed', { withinMs: WAIT_MS });
    expect(isThere(pid)).toBe(false);
    expect(await first.exited).toBe(0);
    expect(first.events.map(({ event }) => event)).not.toContain('reaperLost');
  });

  it('hides its secrets: they are in no argument of its reaper’s, and in no variable', async () => {
    const url = fresh();
    await using first = await leader(url, 'waits', TTL_MS, { INCUMBENT_STORE: url, HUNTER: 'hunter2' });
    const pid = reaperOf(first);
    const seen = ['cmdline', 'environ'].map((what) => readFileSync(`/proc/${pid}/${what}`, 'latin1')).join('\n');
    expect(seen).toContain('incumbent-reaper');
    expect(seen).not.toContain('hunter2');
    expect(seen).not.toContain(new URL(etcd.url).host);
  });

  it('has its group killed before anybody else leads, what hears no SIGTERM included', async () => {
    const url = fresh();
    await using first = await leader(url, 'has a group');
    const names = () => new Set(pulses(first).map(({ fields }) => fields['name']));
    await until(() => names().size === 2, { what: 'both of the group', withinMs: WAIT_MS });
    await using second = await waiting(url);
    const killedAt = now();
    first.sigkill();
    const nextAt = await electedAt(second);
    await first.exited;
    const lastAt = Math.max(...pulses(first).map(at));
    expect(lastAt).toBeGreaterThan(killedAt - 500);
    expect(lastAt).toBeLessThan(nextAt);
    expect(nextAt - killedAt).toBeLessThan(PROMPT_MS);
  });

  it('has its group killed when its lease is gone before its time, though its work is stuck', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await leader(url, 'has a group, and is stuck', ttlMs);
    await until(() => pulses(first).length > 10, { what: 'the group', withinMs: WAIT_MS });
    const group = Number(pulses(first)[0]?.fields['group']);
    const leases = (await etcd.ctl(['lease', 'list'])).split('\n').filter((line) => /^[0-9a-f]{8,}$/.test(line));
    expect(leases.length).toBeGreaterThan(0);
    for (const lease of leases) await etcd.ctl(['lease', 'revoke', lease]);
    await first.waitFor('ended', { withinMs: WAIT_MS });
    await until(() => groupIsGone(group), { what: 'the end of the group', withinMs: WAIT_MS });
    expect(first.running).toBe(true);
  });

  it('has its group killed though it is stopped itself, before anybody else leads', async () => {
    const url = fresh();
    const ttlMs = 3_000;
    await using first = await leader(url, 'has a group', ttlMs);
    await until(() => pulses(first).length > 10, { what: 'the group', withinMs: WAIT_MS });
    await using second = await waiting(url, ttlMs);
    first.sigstop();
    const nextAt = await electedAt(second);
    const lastAt = Math.max(...pulses(first).map(at));
    expect(lastAt).toBeLessThan(nextAt);
    const [one] = pulses(first);
    // Whoever was killed does nothing any more; but to be gone takes a processor.
    await until(() => groupIsGone(Number(one?.fields['group'])), { what: 'the end of the group', withinMs: WAIT_MS });
    expect(isThere(reaperOf(first))).toBe(true);
    first.sigcont();
    await first.waitFor('ended', { withinMs: WAIT_MS });
    // Before the second, whose end would have it elected again, and killed between the start of a group and its binding.
    first.sigkill();
    await first.exited;
  });
});

describe.runIf(await requireStore({ store: 'etcd', own: true }))('a reaper whose store is away', () => {
  it('asks again until it is there', async () => {
    await using etcd = await startEtcd();
    const url = storeUrl([etcd.url], freshNamespace());
    await using first = await leader(url, 'waits');
    await using second = await waiting(url);
    await etcd.kill('SIGKILL');
    first.sigkill();
    await sleep(2_000);
    await etcd.restart();
    const upAt = now();
    // A server that comes back begins every lease's ttl anew.
    expect((await electedAt(second)) - upAt).toBeLessThan(TTL_MS / 2);
    await gone(reaperOf(first));
  });

  it('ends when the lease has ended by itself', async () => {
    const etcd = await startEtcd();
    await using first = await leader(storeUrl([etcd.url], freshNamespace()), 'waits', 2_000);
    const pid = reaperOf(first);
    await etcd.stop();
    first.sigkill();
    await sleep(500);
    expect(isThere(pid)).toBe(true);
    await until(() => !isThere(pid), { what: 'its end' });
  });
});

describe('a process that dies before its reaper has begun', () => {
  it.each([0, 20, 40, 60, 80, 100, 150, 200])('has its group killed all the same: after %i ms', async (ms) => {
    await using script = await spawnScript(HASTY, { args: [String(ms)] });
    const { fields } = await script.waitFor('bound', { withinMs: WAIT_MS });
    await script.exited;
    await until(() => groupIsGone(Number(fields['pid'])), { what: 'the end of the group', withinMs: WAIT_MS });
  });
});
