/** Processes of one host that do not see each other, or not the same clock. Leases then end in time: never early, and at one moment for all. */

import { join } from 'node:path';
import type { Entry, Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { makeScratch, spawnScript, until, type Scratch, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { canUnshare, nodeCommand, spawnCommand, stop } from './commands.ts';
import { Recorder } from './recorder.ts';
import { CALL, LEASE_CALL } from './rig.ts';

const HOLDER = new URL('scripts/holder.ts', import.meta.url);
const WATCHER = new URL('scripts/watcher.ts', import.meta.url);
const PATIENCE_MS = 15_000;
const TTL_MS = 2_000;
const LONG_TTL_MS = 3_600_000;

const PID_SPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const AHEAD_S = 1_000;
const TIME_SPACE = ['--time', '--monotonic', String(AHEAD_S), '--boottime', String(AHEAD_S)];

let scratch: Scratch;
let file: string;
let store: Store;

beforeEach(async () => {
  scratch = await makeScratch('namespaces');
  file = join(scratch.path, 'state.db');
  store = await openSqlite({ file });
});
afterEach(async () => {
  await store.close();
  await scratch.remove();
});

async function startIn(space: readonly string[], script: URL, args: readonly string[]): Promise<ScriptProcess> {
  return spawnCommand('unshare', [...space, ...nodeCommand(script, args)]);
}

async function watched(): Promise<Recorder<Entry | undefined>> {
  const watch = new Recorder<Entry | undefined>((options) => store.watch('leader', options));
  await until(() => watch.latest !== undefined, { what: 'the key is shown', withinMs: PATIENCE_MS });
  return watch;
}

/** When the key was seen to be gone, in ns. */
async function vanishes(watch: Recorder<Entry | undefined>): Promise<bigint> {
  await until(() => watch.latest === undefined, { what: 'the key is gone', withinMs: PATIENCE_MS, everyMs: 1 });
  return process.hrtime.bigint();
}

/** When the holder last asked for its whole ttl, on its own clock. */
function lastSent(holder: ScriptProcess): bigint {
  const last = holder.events.findLast(({ event }) => event === 'holds' || event === 'renewed');
  return BigInt(String(last?.fields['sent']));
}

function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

/** Grants leases, which looks at all processes that can be seen. */
async function lookAround(): Promise<void> {
  for (let grant = 0; grant < 20; grant += 1) {
    const { id } = await store.grantLease(1_000, LEASE_CALL);
    await store.revokeLease(id, CALL);
  }
}

async function grantsOf(script: ScriptProcess, count: number): Promise<void> {
  const granted = (): number => script.events.filter(({ event }) => event === 'granted').length;
  const from = granted();
  await until(() => granted() >= from + count, { what: `${count} grants`, withinMs: PATIENCE_MS });
}

describe.runIf(canUnshare(...PID_SPACE))('a process in another pid namespace', () => {
  it('that is killed keeps its keys for its ttl, to the end of it', async () => {
    await using holder = await startIn(PID_SPACE, HOLDER, [file, 'leader', String(TTL_MS), 'renews']);
    // Ids are counted anew there: outside, another process has this one.
    const { fields } = await holder.waitFor('holds', { withinMs: PATIENCE_MS });
    expect(Number(fields['pid'])).toBeLessThan(100);
    const watch = await watched();
    await holder.waitFor('renewed', { withinMs: PATIENCE_MS });
    holder.sigkill();
    await holder.exited;
    await lookAround();
    const gone = await vanishes(watch);
    expect(msBetween(lastSent(holder), gone)).toBeGreaterThanOrEqual(TTL_MS);
    expect(watch.stale).toEqual([]);
    await watch.stop();
  });

  it('is not taken for dead while it lives, whatever process has its id here', async () => {
    await using holder = await startIn(PID_SPACE, HOLDER, [file, 'leader', String(LONG_TTL_MS)]);
    await holder.waitFor('holds', { withinMs: PATIENCE_MS });
    const watch = await watched();
    await lookAround();
    expect([watch.states.length, await store.read('leader', CALL)]).toEqual([1, expect.anything()]);
    await watch.stop();
  });

  it('does not take for dead those outside, whom it cannot see', async () => {
    await using holder = await spawnScript(HOLDER, { args: [file, 'leader', String(LONG_TTL_MS)] });
    await holder.waitFor('holds', { withinMs: PATIENCE_MS });
    await using watcher = await startIn(PID_SPACE, WATCHER, [file, 'leader']);
    await watcher.waitFor('present', { withinMs: PATIENCE_MS });
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

  it('that is killed keeps its keys to the same moment as everybody’s: neither early nor by the distance of its clock too late', async () => {
    await using holder = await startIn(TIME_SPACE, HOLDER, [file, 'leader', String(TTL_MS), 'renews']);
    await holder.waitFor('holds', { withinMs: PATIENCE_MS });
    const watch = await watched();
    await holder.waitFor('renewed', { withinMs: PATIENCE_MS });
    holder.sigkill();
    await holder.exited;
    await lookAround();
    const gone = await vanishes(watch);
    expect(msBetween(lastSent(holder) - aheadNs, gone)).toBeGreaterThanOrEqual(TTL_MS);
    await watch.stop();
  });

  it('sees the leases of others live and end as they do', async () => {
    await using holder = await spawnScript(HOLDER, { args: [file, 'leader', String(TTL_MS), 'renews'] });
    await holder.waitFor('holds', { withinMs: PATIENCE_MS });
    await using watcher = await startIn(TIME_SPACE, WATCHER, [file, 'leader']);
    const present = await watcher.waitFor('present', { withinMs: PATIENCE_MS });
    // The test has what it is about: a clock that is ahead.
    expect(msBetween(process.hrtime.bigint(), seenAt(present))).toBeGreaterThan((AHEAD_S / 2) * 1e3);
    const watch = await watched();
    const from = holder.events.length;
    await holder.waitFor('renewed', { withinMs: PATIENCE_MS, from: from + 1 });
    expect(watcher.events.some(({ event }) => event === 'absent')).toBe(false);
    await stop(holder);
    const absent = await watcher.waitFor('absent', { withinMs: PATIENCE_MS });
    await vanishes(watch);
    expect(msBetween(lastSent(holder), seenAt(absent) - aheadNs)).toBeGreaterThanOrEqual(TTL_MS);
    expect(watcher.events.some(({ event }) => event === 'stale')).toBe(false);
    await watch.stop();
  });
});

describe.runIf(canUnshare('--mount'))('a process that has the file alone mounted, and not its folder', () => {
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
      file,
      at,
      ...script,
    ]);
    expect(await holder.exited).not.toBe(0);
    expect(holder.output.join('\n')).toContain(`${at} was mounted alone`);
    await other.remove();
  });
});
