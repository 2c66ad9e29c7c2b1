/**
 * Processes of one host that do not see each other, or that have different clocks. Their leases end
 * by the ttl: never early, and at the same moment for all processes.
 */

import { join } from 'node:path';
import type { Store } from '@incumbent/core';
import { canUnshare, makeScratch, spawnScript, until, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { nodeCommand, spawnCommand, stop } from './commands.ts';
import { CALL, LEASE_CALL } from './rig.ts';
import { HOLDER, LONG_TTL_MS, ScratchFile, vanishes, watchLeader, WITHIN_MS } from './scratch-file.ts';

const CLAIMANT = new URL('scripts/claimant.ts', import.meta.url);
const WATCHER = new URL('scripts/watcher.ts', import.meta.url);
const TTL_MS = 2_000;

const PID_SPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const AHEAD_S = 1_000;
const TIME_SPACE = ['--time', '--monotonic', String(AHEAD_S), '--boottime', String(AHEAD_S)];

let file: ScratchFile;
let store: Store;

beforeEach(async () => {
  file = await ScratchFile.make('namespaces');
  store = await file.open();
});
afterEach(async () => {
  await file[Symbol.asyncDispose]();
});

async function startIn(space: readonly string[], script: URL, args: readonly string[]): Promise<ScriptProcess> {
  return spawnCommand('unshare', [...space, ...nodeCommand(script, args)]);
}

/** When the holder last asked for its whole ttl, on its own clock, in ns. */
function lastSent(holder: ScriptProcess): bigint {
  const last = holder.events.findLast(({ event }) => event === 'holds' || event === 'renewed');
  return BigInt(String(last?.fields['sent']));
}

function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

/** Grants leases, and so checks all processes that this process can see. */
async function checkProcesses(): Promise<void> {
  for (let grant = 0; grant < 20; grant += 1) {
    const { id } = await store.grantLease(1_000, LEASE_CALL);
    await store.revokeLease(id, CALL);
  }
}

/**
 * Kills the holder after a renewal. Returns when the watch showed that the key is absent, in ns.
 */
async function killAfterRenewal(holder: ScriptProcess, watch: Awaited<ReturnType<typeof watchLeader>>): Promise<bigint> {
  await holder.waitFor('renewed', { withinMs: WITHIN_MS });
  holder.sigkill();
  await holder.exited;
  await checkProcesses();
  return vanishes(watch);
}

async function grantsOf(script: ScriptProcess, count: number): Promise<void> {
  const granted = (): number => script.events.filter(({ event }) => event === 'granted').length;
  const from = granted();
  await until(() => granted() >= from + count, { what: `${count} grants`, withinMs: WITHIN_MS });
}

describe.runIf(canUnshare(...PID_SPACE))('a process in another pid namespace', () => {
  it('that is killed keeps its keys until the end of its ttl', async () => {
    await using holder = await startIn(PID_SPACE, HOLDER, [file.path, 'leader', String(TTL_MS), 'renews']);
    // Ids start at 1 in the new namespace. Outside, another process has this id.
    const { fields } = await holder.waitFor('holds', { withinMs: WITHIN_MS });
    expect(Number(fields['pid'])).toBeLessThan(100);
    const watch = await watchLeader(store);
    const gone = await killAfterRenewal(holder, watch);
    expect(msBetween(lastSent(holder), gone)).toBeGreaterThanOrEqual(TTL_MS);
    expect(watch.stale).toEqual([]);
    await watch.stop();
  });

  it('is not considered dead while it lives, whatever process has its id here', async () => {
    await using holder = await startIn(PID_SPACE, HOLDER, [file.path, 'leader', String(LONG_TTL_MS)]);
    await holder.waitFor('holds', { withinMs: WITHIN_MS });
    const watch = await watchLeader(store);
    await checkProcesses();
    expect([watch.states.length, await store.read('leader', CALL)]).toEqual([1, expect.anything()]);
    await watch.stop();
  });

  it('does not consider processes outside dead, which it cannot see', async () => {
    await using _holder = await file.hold('leader', LONG_TTL_MS);
    await using watcher = await startIn(PID_SPACE, WATCHER, [file.path, 'leader']);
    await watcher.waitFor('present', { withinMs: WITHIN_MS });
    await grantsOf(watcher, 10);
    expect(watcher.events.filter(({ event }) => event !== 'granted').map(({ event }) => event)).toEqual(['present']);
    expect(await store.read('leader', CALL)).toBeDefined();
  });
});

describe.runIf(canUnshare(...TIME_SPACE))('a process in another time namespace', () => {
  const aheadNs = BigInt(AHEAD_S) * 1_000_000_000n;

  /** When the watcher saw the key go, on the clock of the one who is ahead. */
  function seenAt({ fields }: ScriptEvent): bigint {
    return BigInt(String(fields['seen']));
  }

  it('that is killed keeps its keys exactly until the end of its ttl, whatever the offset of its clock', async () => {
    await using holder = await startIn(TIME_SPACE, HOLDER, [file.path, 'leader', String(TTL_MS), 'renews']);
    await holder.waitFor('holds', { withinMs: WITHIN_MS });
    const watch = await watchLeader(store);
    const gone = await killAfterRenewal(holder, watch);
    expect(msBetween(lastSent(holder) - aheadNs, gone)).toBeGreaterThanOrEqual(TTL_MS);
    await watch.stop();
  });

  it('sees the leases of others live and end as they do', async () => {
    await using holder = await file.hold('leader', TTL_MS, 'renews');
    await using watcher = await startIn(TIME_SPACE, WATCHER, [file.path, 'leader']);
    const present = await watcher.waitFor('present', { withinMs: WITHIN_MS });
    // The test has what it is about: a clock that is ahead.
    expect(msBetween(process.hrtime.bigint(), seenAt(present))).toBeGreaterThan((AHEAD_S / 2) * 1e3);
    const watch = await watchLeader(store);
    const from = holder.events.length;
    await holder.waitFor('renewed', { withinMs: WITHIN_MS, from: from + 1 });
    expect(watcher.events.some(({ event }) => event === 'absent')).toBe(false);
    await stop(holder);
    const absent = await watcher.waitFor('absent', { withinMs: WITHIN_MS });
    await vanishes(watch);
    expect(msBetween(lastSent(holder), seenAt(absent) - aheadNs)).toBeGreaterThanOrEqual(TTL_MS);
    expect(watcher.events.some(({ event }) => event === 'stale')).toBe(false);
    await watch.stop();
  });
});

describe.runIf(canUnshare('--mount'))('a process for which only the file is mounted, not its folder', () => {
  it('is refused: it would keep a log of its own, and elect a leader of its own', async () => {
    const other = await makeScratch('mounted');
    const at = join(other.path, 'state.db');
    const script = nodeCommand(HOLDER, [at, 'leader', String(TTL_MS)]);
    await using holder = await spawnCommand('unshare', [
      '--mount',
      'sh',
      '-c',
      'at="$2"; touch "$at" && mount --bind "$1" "$at" && shift 2 && exec "$@"',
      'sh',
      file.path,
      at,
      ...script,
    ]);
    expect(await holder.exited).not.toBe(0);
    expect(holder.output.join('\n')).toContain(`${at} was mounted alone`);
    await other.remove();
  });
});

describe.runIf(canUnshare('--mount', ...PID_SPACE))('a leader stays the only one when the file is opened by a process', () => {
  it('whose /proc has no boot id (ProcSubset=pid of systemd)', async () => {
    await using leader = await spawnScript(CLAIMANT, { args: [file.path] });
    await leader.waitFor('leads', { withinMs: WITHIN_MS });
    const mountProc = 'mount -t proc -o subset=pid proc /proc && exec "$@"';
    await using second = await spawnCommand('unshare', ['--mount', 'sh', '-c', mountProc, 'sh', ...nodeCommand(CLAIMANT, [file.path])]);
    await staysLeader(leader, second);
  });

  it('in the same pid namespace whose /proc is that of another one (nsenter --pid)', async () => {
    await using leader = await startIn(PID_SPACE, CLAIMANT, [file.path]);
    await leader.waitFor('leads', { withinMs: WITHIN_MS });
    // The child of unshare is in the new namespace.
    const enter = `exec nsenter -t $(pgrep -P ${leader.pid}) -p "$@"`;
    await using second = await spawnCommand('sh', ['-c', enter, 'sh', ...nodeCommand(CLAIMANT, [file.path])]);
    try {
      await staysLeader(leader, second);
    } finally {
      // Ends all processes of the namespace, also the child that nsenter leaves behind.
      leader.sigkill();
    }
  });

  /**
   * Both processes have renewed their leases five times after the second one has opened the file.
   */
  async function staysLeader(leader: ScriptProcess, second: ScriptProcess): Promise<void> {
    await second.waitFor('follows', { withinMs: WITHIN_MS });
    const from = leader.events.length;
    await until(() => leader.events.length >= from + 5, { what: 'five renewals', withinMs: WITHIN_MS });
    expect(new Set(leader.events.slice(1).map(({ event }) => event))).toEqual(new Set(['leads']));
    expect(second.events.some(({ event }) => event === 'leads')).toBe(false);
  }
});
