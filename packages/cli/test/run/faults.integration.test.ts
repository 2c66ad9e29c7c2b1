import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupIsGone } from '@incumbent/reaper';
import {
  freePort,
  makeScratch,
  outcomeOf,
  requireStore,
  sharedEtcd,
  startEtcd,
  startProxy,
  uniqueNamespace,
  until,
  type Scratch,
  type ScriptProcess,
} from '@incumbent/test-support';
import { openStore } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { lastBeat, mainCommand, DEADLINE_MS, programThat, says, startCommand, started, startRun } from '../support/command.ts';

let scratch: Scratch;
beforeEach(async () => {
  scratch = await makeScratch('faults');
});
afterEach(async () => scratch.remove());

describe.runIf(await requireStore({ store: 'etcd' }))('on etcd, a process', { timeout: 180_000 }, () => {
  it('that is cut off from the store ends its program within the grace, before another member leads, and campaigns again', async () => {
    const { url } = await sharedEtcd();
    await using proxy = await startProxy(url);
    const namespace = uniqueNamespace('cli');
    const port = await freePort();
    const args = ['--ttl', '5s', '--grace', '1s', ...programThat('ignores', 'child')];
    await using a = await startRun(`etcd://${new URL(proxy.url).host}/${namespace}`, 'a', ['--health-port', `127.0.0.1:${port}`, ...args]);
    const { fields } = await started(a);
    await using b = await startRun(`etcd://${new URL(url).host}/${namespace}`, 'b', args);
    await says(b, 'waits to lead');
    proxy.blackhole();
    const answers = async (path: string, status: number): Promise<void> => {
      await until(async () => (await fetch(`http://127.0.0.1:${port}${path}`)).status === status, {
        what: `${path} to answer ${status}`,
        withinMs: DEADLINE_MS,
        everyMs: 20,
      });
    };
    await answers('/healthz', 503);
    const next = await started(b);
    expect(lastBeat(a, '1')).toBeLessThan(next.at);
    await until(() => groupIsGone(Number(fields['pid'])), { what: 'the process group is gone', withinMs: DEADLINE_MS });
    const sigterm = a.events.find(({ event }) => event === 'signal');
    expect(sigterm?.fields).toMatchObject({ name: 'SIGTERM' });
    expect(Number(lastBeat(a, '1') - (sigterm?.at ?? 0n)) / 1e6).toBeGreaterThan(300);
    // It does not lead any more, so it is healthy; without a lease it is not ready.
    await answers('/healthz', 200);
    await answers('/readyz', 503);
    expect(await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()).toMatchObject({
      ready: false,
      lease: 'idle',
      reason: expect.stringMatching(
        /^there is no lease: a call to the store failed with (TIMEOUT|UNREACHABLE|CONNECTION_LOST), see the log$/,
      ),
    });
    await proxy.heal();
    await answers('/readyz', 200);
    b.sigterm();
    b.sigkill();
    await a.waitFor(({ event, fields: again }) => event === 'started' && again['term'] !== '1', { withinMs: DEADLINE_MS });
  });

  it('that a signal stops while it resigns exits with the code of its program', async () => {
    const { url } = await sharedEtcd();
    await using proxy = await startProxy(url);
    const finish = join(scratch.path, 'finish');
    const program = ['--', 'sh', '-c', `until [ -e ${finish} ]; do sleep 0.05; done; exit 42`];
    await using run = await startRun(`etcd://${new URL(proxy.url).host}/${uniqueNamespace('cli')}`, 'a', ['--ttl', '5s', ...program]);
    await says(run, 'leads');
    // The resignation now waits for the store.
    proxy.blackhole();
    await writeFile(finish, '');
    await says(run, 'ended: exit code 42');
    run.sigterm();
    expect(await run.exited).toBe(42);
  });

  it('whose store dies ends its program at the deadline, and runs it again when the store is back', async () => {
    await using own = await startEtcd();
    await using run = await startRun(`etcd://${new URL(own.url).host}/x`, 'a', ['--ttl', '4s', ...programThat()]);
    const { fields } = await started(run);
    await own.kill();
    await says(run, 'leads no more in term 1');
    await until(() => groupIsGone(Number(fields['pid'])), { what: 'the program is gone', withinMs: DEADLINE_MS });
    expect(run.running).toBe(true);
    await own.restart();
    await run.waitFor(({ event, fields: again }) => event === 'started' && again['term'] === '2', { withinMs: DEADLINE_MS });
  });
});

describe('a full disk', { timeout: 180_000 }, () => {
  const MOUNT = 'mount -t tmpfs -o size=512k incumbent "$1" && shift && exec "$@"';

  it.runIf(spawnSync('unshare', ['--mount', 'true']).status === 0)(
    'of the store does not keep it from renewing leases, so a program runs three ttls later',
    async () => {
      const store = `sqlite:${join(scratch.path, 'state.db')}`;
      const fills = programThat('fills', scratch.path);
      const command = [
        'unshare',
        '--mount',
        'sh',
        '-c',
        MOUNT,
        'sh',
        scratch.path,
        ...mainCommand('run', '--election', 'controller', '--ttl', '3s', ...fills),
      ];
      await using run = await startCommand(command, { INCUMBENT_STORE: store });
      const full = await run.waitFor('full', { withinMs: DEADLINE_MS });
      const threeTtls = 9_000_000_000n;
      await run.waitFor(({ event, at }) => event === 'beat' && at > full.at + threeTtls, { withinMs: DEADLINE_MS });
      run.sigterm();
      await run.exited;
    },
  );

  it('of standard error does not stop the program', async () => {
    const store = `sqlite:${join(scratch.path, 'state.db')}`;
    const [node = '', ...args] = mainCommand('run', '--election', 'x', '--', 'sh', '-c', 'exit 42');
    const { status } = spawnSync('sh', ['-c', 'exec "$@" 2>/dev/full', 'sh', node, ...args], {
      env: { ...process.env, INCUMBENT_STORE: store },
    });
    expect(status).toBe(42);
  });

  it('of standard output is an error', async () => {
    const store = `sqlite:${join(scratch.path, 'state.db')}`;
    await (await openStore(store)).close();
    const [node = '', ...args] = mainCommand('status', 'x');
    const { status, stderr } = spawnSync('sh', ['-c', 'exec "$@" >/dev/full', 'sh', node, ...args], {
      encoding: 'utf8',
      env: { ...process.env, INCUMBENT_STORE: store },
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining('ENOSPC')]);
  });
});

/** The process ids of the reapers that `run -v` has reported, the latest last. */
function reapersOf({ output }: ScriptProcess): readonly number[] {
  return output.flatMap((line) => /reaper is there.*"pid":(\d+)/.exec(line)?.[1] ?? []).map(Number);
}

describe('a process whose reaper is killed', { timeout: 180_000 }, () => {
  it('continues with its program, and another reaper takes the place of the killed one', async () => {
    const store = `sqlite:${join(scratch.path, 'state.db')}`;
    await using a = await startRun(store, 'a', ['-v', ...programThat()]);
    const { fields } = await started(a);
    await says(a, 'the reaper is there');
    const [first = Number.NaN] = reapersOf(a);
    process.kill(first, 'SIGKILL');
    await until(() => reapersOf(a).length === 2, { what: 'another reaper', withinMs: DEADLINE_MS });
    expect([a.running, groupIsGone(Number(fields['pid']))]).toEqual([true, false]);
    expect(a.events.filter(({ event }) => event === 'started').length).toBe(1);
    await using b = await startRun(store, 'b', programThat());
    await says(b, 'waits to lead');
    a.sigkill();
    const killedAt = process.hrtime.bigint();
    const next = await started(b);
    // Long before the ttl of 15 s is over, and after the first program's group is gone.
    expect(Number(next.at - killedAt) / 1e6).toBeLessThan(10_000);
    expect(groupIsGone(Number(fields['pid']))).toBe(true);
  });
});

describe('a process that is killed together with its reaper', { timeout: 180_000 }, () => {
  it('leaves its program running and its lease to the ttl; then another member leads in a higher term', async () => {
    const store = `sqlite:${join(scratch.path, 'state.db')}`;
    const args = ['--ttl', '4s', ...programThat()];
    await using a = await startRun(store, 'a', ['-v', ...args]);
    const { fields } = await started(a);
    await says(a, 'the reaper is there');
    await using b = await startRun(store, 'b', args);
    await says(b, 'waits to lead');
    process.kill(reapersOf(a)[0] ?? Number.NaN, 'SIGKILL');
    a.sigkill();
    const killedAt = process.hrtime.bigint();
    const next = await started(b);
    expect(next.fields['term']).toBe('2');
    expect(Number(next.at - killedAt) / 1e6).toBeGreaterThan(1_000);
    expect(groupIsGone(Number(fields['pid']))).toBe(false);
    process.kill(-Number(fields['pid']), 'SIGKILL');
  });
});

describe('a reader that closes the pipe', () => {
  it('ends watch at its next line, with 0', async () => {
    const env = { INCUMBENT_STORE: `sqlite:${join(scratch.path, 'state.db')}` };
    await (await openStore(env.INCUMBENT_STORE)).close();
    const script = '{ "$@"; echo "code $?" >&2; } | head -n 1';
    const watching = outcomeOf(['sh', '-c', script, 'sh', ...mainCommand('watch', 'x')], { env, timeoutMs: 2 * DEADLINE_MS });
    let isOver = false;
    void watching.then(() => (isOver = true));
    // Each run leads and resigns, which makes two lines. The reader sees whichever line comes
    // first.
    while (!isOver) await outcomeOf(mainCommand('run', '--election', 'x', '--', 'true'), { env, timeoutMs: DEADLINE_MS });
    expect((await watching).output).toMatch(/^\S+ {2}(vacant|leader) {3}\S+.*\n(nobody leads .*\n)?code 0\n$/);
  });

  it('ends neither run nor its program', async () => {
    const [node = '', ...args] = mainCommand('run', '--election', 'x', '--', 'sh', '-c', 'echo begins; sleep 1; exit 42');
    const env = { ...process.env, INCUMBENT_STORE: `sqlite:${join(scratch.path, 'state.db')}` };
    const run = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    await once(run.stdout, 'data');
    run.stdout.destroy();
    run.stderr.destroy();
    const [code] = await once(run, 'exit');
    expect(code).toBe(42);
  });
});
