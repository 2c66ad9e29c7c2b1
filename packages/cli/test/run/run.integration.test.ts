import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { constants } from 'node:os';
import { join } from 'node:path';
import { groupIsGone } from '@incumbent/reaper';
import { freePort, makeScratch, until, type Scratch, type ScriptProcess } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { incumbent, lastBeat, DEADLINE_MS, programThat, says, started, startRun } from '../support/command.ts';
import { MARKER } from '@incumbent/test-support/traces';

let scratch: Scratch;
let store: string;
beforeEach(async () => {
  scratch = await makeScratch('run');
  store = `sqlite:${join(scratch.path, 'state.db')}`;
});
afterEach(async () => scratch.remove());

function signalsOf(run: ScriptProcess): readonly unknown[] {
  return run.events.filter(({ event }) => event === 'signal').map(({ fields }) => fields['name']);
}

async function waitForSignal(run: ScriptProcess, name: string): Promise<void> {
  await run.waitFor(({ event, fields }) => event === 'signal' && fields['name'] === name, { withinMs: DEADLINE_MS });
}

describe('a store that is away at the start', () => {
  it('is waited for, and run says so', async () => {
    const folder = join(scratch.path, 'later');
    await using run = await startRun(`sqlite:${join(folder, 'state.db')}`, 'a', programThat('exits', '0'));
    await says(run, 'waits for the store: UNREACHABLE');
    expect(run.running).toBe(true);
    mkdirSync(folder);
    await started(run);
    expect(await run.exited).toBe(0);
  });

  it('is waited for until a signal, and probes have an answer meanwhile', async () => {
    const port = await freePort();
    const args = ['--health-port', `127.0.0.1:${port}`, ...programThat('exits', '0')];
    await using run = await startRun(`sqlite:${join(scratch.path, 'never', 'state.db')}`, 'a', args);
    await says(run, 'waits for the store');
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      {
        ready: false,
        reason: 'the store is not open: a call to the store failed with UNREACHABLE, see the log',
        lease: 'idle',
        election: 'controller',
        member: 'a',
        leads: false,
        term: null,
        validForMs: 0,
        programRuns: false,
      },
    ]);
    run.sigterm();
    expect(await run.exited).toBe(128 + constants.signals.SIGTERM);
  });
});

describe('a program', () => {
  it('gets its term, election and member in the environment, and keeps its arguments and output', async () => {
    await using run = await startRun(store, 'a', programThat('exits', '0', '--ttl', 'x'));
    const { fields } = await started(run);
    expect(fields).toMatchObject({ term: '1', election: 'controller', member: 'a', args: ['exits', '0', '--ttl', 'x'] });
    expect(await run.exited).toBe(0);
    expect(run.output.join('\n')).toContain('leads "controller" in term 1');
  });

  it.each([[[]], [['--verbose']], [['--quiet']]])('is started without a message about its arguments, with %j', async (flags) => {
    const words = programThat('exits', '3', '--password', MARKER);
    await using run = await startRun(store, 'a', [...flags, ...words]);
    expect((await started(run)).fields['args']).toContain(MARKER);
    expect(await run.exited).toBe(3);
    const output = run.output.join('\n');
    if (!flags.includes('--quiet')) expect(output).toContain('leads "controller" in term 1');
    expect(output).not.toContain(MARKER);
  });

  it('that cannot be started is named without its arguments', async () => {
    const { code, output } = await incumbent(['run', '--election', 'x', '--verbose', '--', './none', MARKER], { INCUMBENT_STORE: store });
    expect(code).toBe(127);
    expect(output).toContain('./none');
    expect(output).not.toContain(MARKER);
  });

  it('has the standard streams of run, and nothing is added to its output', async () => {
    const main = join(import.meta.dirname, '../../src/main.ts');
    const args = [
      '--conditions=@incumbent/source',
      '--disable-warning=ExperimentalWarning',
      main,
      'run',
      '--election',
      'x',
      '--',
      'tr',
      'a-z',
      'A-Z',
    ];
    const { status, stdout } = spawnSync(process.execPath, args, {
      input: 'who leads?',
      encoding: 'utf8',
      env: { ...process.env, INCUMBENT_STORE: store },
    });
    expect([status, stdout]).toEqual([0, 'WHO LEADS?']);
  });

  it('that ended with its leadership does not determine the exit code of a later wait', async () => {
    await using a = await startRun(store, 'a', programThat());
    await started(a);
    await using b = await startRun(store, 'b', programThat());
    await says(b, 'waits to lead');
    expect((await incumbent(['resign', 'controller'], { INCUMBENT_STORE: store })).code).toBe(0);
    await started(b);
    await says(a, 'waits to lead');
    process.kill(a.pid, 'SIGHUP');
    expect(await a.exited).toBe(129);
  });

  it('runs in one process at a time; the next one starts when the first has ended, in the next term', async () => {
    await using a = await startRun(store, 'a', programThat());
    await started(a);
    await using b = await startRun(store, 'b', programThat());
    await says(b, 'waits to lead');
    a.sigterm();
    const next = await started(b);
    expect(await a.exited).toBe(0);
    expect([next.fields['term'], lastBeat(a, '1') < next.at]).toEqual(['2', true]);
  });

  it.each(['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const)('gets %s, and may continue', async (name) => {
    await using run = await startRun(store, 'a', programThat('reloads'));
    await started(run);
    process.kill(run.pid, name);
    await waitForSignal(run, name);
    process.kill(run.pid, name);
    await until(() => signalsOf(run).length === 2, { what: 'the second signal', withinMs: DEADLINE_MS });
    expect(run.running).toBe(true);
    run.sigterm();
    expect(await run.exited).toBe(0);
  });

  it.each([
    ['SIGTERM', '0', 0],
    ['SIGTERM', '5', 5],
    ['SIGINT', '6', 6],
  ] as const)('that ends after %s ends run with its exit code, %s', async (name, code, expected) => {
    await using run = await startRun(store, 'a', programThat('then', code));
    await started(run);
    process.kill(run.pid, name);
    expect(await run.exited).toBe(expected);
    expect(signalsOf(run)).toEqual([name]);
    expect((await incumbent(['status'], { INCUMBENT_STORE: store })).output).toContain('vacant: resigned');
  });

  it('that does not end after SIGTERM is killed after --stop-timeout, and run leads until then', async () => {
    await using run = await startRun(store, 'a', ['--stop-timeout', '8s', ...programThat('ignores')]);
    await started(run);
    run.sigterm();
    await waitForSignal(run, 'SIGTERM');
    expect((await incumbent(['leader', 'controller'], { INCUMBENT_STORE: store })).output).toContain('a  term 1');
    expect(await run.exited).toBe(128 + 9);
  });

  it('leaves no process of its group behind: leadership lasts until the last one is gone', async () => {
    await using run = await startRun(store, 'a', ['--ttl', '5s', '--grace', '500ms', ...programThat('leaves')]);
    const child = await run.waitFor(({ event, fields }) => event === 'started' && fields['who'] === 'child', { withinMs: DEADLINE_MS });
    const { fields } = await started(run);
    expect(await run.exited).toBe(7);
    expect(groupIsGone(Number(fields['pid']))).toBe(true);
    expect(
      run.events.some(({ event, fields: signal }) => event === 'signal' && signal['who'] === 'child' && signal['name'] === 'SIGTERM'),
    ).toBe(true);
    expect(run.events.findLast(({ fields: signal }) => signal['who'] === 'child')?.at).toBeGreaterThan(child.at);
  });
});

describe('a run that waits', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends at %s with 128 + n, and leaves the queue', async (name) => {
    await using a = await startRun(store, 'a', programThat());
    await started(a);
    await using b = await startRun(store, 'b', programThat());
    await says(b, 'waits to lead');
    const queue = async (): Promise<string> => (await incumbent(['candidates', 'controller'], { INCUMBENT_STORE: store })).output;
    await expect.poll(queue, { timeout: DEADLINE_MS }).toMatch(/^1 +b /m);
    process.kill(b.pid, name);
    expect(await b.exited).toBe(128 + { SIGTERM: 15, SIGINT: 2, SIGHUP: 1 }[name]);
    expect(await queue()).not.toMatch(/^\d+ +b /m);
    expect(b.events).toEqual([]);
  });
});

describe('an end of leadership', { timeout: 180_000 }, () => {
  it('by an operator ends the program’s group with SIGTERM, the grace and SIGKILL; then it runs in another term', async () => {
    await using run = await startRun(store, 'a', ['--ttl', '6s', '--grace', '700ms', ...programThat('ignores', 'child')]);
    const { fields } = await started(run);
    const result = await incumbent(['resign', 'controller', '--term', '1'], { INCUMBENT_STORE: store });
    // The member leaves the queue before it joins it again; the command may read in between.
    expect(result).toMatchObject({ code: 0, output: expect.stringMatching(/leads in term 2|nobody leads now/) });
    const next = await started(run, run.events.findIndex(({ event }) => event === 'started') + 1);
    expect(next.fields['term']).toBe('2');
    const sigtermAt = run.events.find(({ event }) => event === 'signal')?.at ?? 0n;
    const beats = run.events
      .filter(({ event, fields: beat }) => event === 'beat' && beat['term'] === '1')
      .map(({ at }) => Number(at - sigtermAt) / 1e6);
    expect(Math.max(...beats)).toBeGreaterThan(400);
    expect(lastBeat(run, '1')).toBeLessThan(next.at);
    expect(groupIsGone(Number(fields['pid']))).toBe(true);
    run.sigkill();
  });

  it('with --once ends run with 124', async () => {
    await using run = await startRun(store, 'a', ['--once', ...programThat()]);
    await started(run);
    const resigned = await incumbent(['resign', 'controller'], { INCUMBENT_STORE: store });
    expect(await run.exited).toBe(124);
    expect(resigned.output).toContain('nobody leads now');
  });

  it('by a handover starts the program at the successor, past those before it', async () => {
    await using a = await startRun(store, 'a', programThat());
    await started(a);
    await using b = await startRun(store, 'b', programThat());
    await says(b, 'waits to lead');
    await using c = await startRun(store, 'c', programThat());
    await says(c, 'waits to lead');
    await until(async () => (await incumbent(['candidates', 'controller'], { INCUMBENT_STORE: store })).output.includes('c '), {
      what: 'c is in the queue',
      withinMs: DEADLINE_MS,
    });
    const result = await incumbent(['handover', 'controller', '--to', 'c'], { INCUMBENT_STORE: store });
    expect(result).toMatchObject({ code: 0, output: expect.stringContaining('"c" leads in term 2') });
    const next = await started(c);
    expect([signalsOf(a), lastBeat(a, '1') < next.at, b.events]).toEqual([['SIGTERM'], true, []]);
    const refused = await incumbent(['handover', 'controller', '--to', 'nobody'], { INCUMBENT_STORE: store });
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('no candidate') });
  });
});

describe('--restart', () => {
  it('campaigns again when the program has ended, in another term, until SIGTERM', async () => {
    await using run = await startRun(store, 'a', ['--restart', ...programThat('exits', '3', 'after', '50')]);
    await run.waitFor(({ event, fields }) => event === 'started' && fields['term'] === '2', { withinMs: DEADLINE_MS });
    await says(run, 'waits 2s, then campaigns again');
    run.sigterm();
    expect(await run.exited).toBe(3);
  });

  it('does not restart a program that a passed-on signal ended', async () => {
    await using run = await startRun(store, 'a', ['--restart', ...programThat('dies', 'SIGHUP', 'after', '60000')]);
    await started(run);
    process.kill(run.pid, 'SIGHUP');
    expect(await run.exited).toBe(128 + 1);
  });
});

describe('--health-port', () => {
  async function get(port: number, path: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.json() };
  }

  it('answers 200 on leaders and on waiting members', async () => {
    const ports = [await freePort(), await freePort()] as const;
    await using a = await startRun(store, 'a', ['--health-port', `127.0.0.1:${ports[0]}`, ...programThat()]);
    await started(a);
    await using b = await startRun(store, 'b', ['--health-port', `127.0.0.1:${ports[1]}`, ...programThat()]);
    await says(b, 'waits to lead');
    expect(await get(ports[0], '/healthz')).toMatchObject({
      status: 200,
      body: { healthy: true, lease: 'live', leads: true, term: '1', member: 'a' },
    });
    await until(async () => (await get(ports[1], '/readyz')).status === 200, { what: 'b is ready', withinMs: DEADLINE_MS });
    expect(await get(ports[1], '/healthz')).toMatchObject({
      status: 200,
      body: { healthy: true, leads: false, term: null, programRuns: false },
    });
    expect(await get(ports[0], '/readyz')).toMatchObject({ status: 200, body: { ready: true, leads: true } });
    const metrics = await Promise.all(ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()));
    for (const [i, member] of ['a', 'b'].entries())
      expect(metrics[i]).toMatch(new RegExp(`^incumbent_leader\\{[^}]*member="${member}"[^}]*\\} ${i === 0 ? 1 : 0}$`, 'm'));
    for (const path of ['/', '/constructor', '/healthz/']) expect((await fetch(`http://127.0.0.1:${ports[0]}${path}`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${ports[0]}/healthz`, { method: 'POST' })).status).toBe(404);
  });

  it('that another process uses is an error, and there is no campaign', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const result = await incumbent(['run', '--election', 'x', '--health-port', `127.0.0.1:${port}`, '--', 'true'], {
      INCUMBENT_STORE: store,
    });
    expect(result).toMatchObject({ code: 125, output: expect.stringContaining('EADDRINUSE') });
    server.close();
  });
});
