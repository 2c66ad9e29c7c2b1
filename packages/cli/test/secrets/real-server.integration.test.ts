/**
 * A real server's password is in no process list, log, event, store or member, even after the
 * server has stopped accepting it.
 */

import { readdirSync, readFileSync } from 'node:fs';

import { ElectionObserver, type Logger, Member } from '@incumbent/core';
import { openRedis } from '@incumbent/redis';
import { sharedRedis, spawnScript, uniqueNamespace, until, type StoreService } from '@incumbent/test-support';
import { MARKER, showing, tracesOf } from '@incumbent/test-support/traces';
import { openStore } from 'incumbent';
import { beforeAll, describe, expect, it } from 'vitest';

import { EventRecorder } from '../support/event-recorder.ts';
import { type CommandResult, TestConsole } from '../support/test-console.ts';
import { programThat, started } from '../support/command.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url);
const DEADLINE = { withinMs: 30_000 };
/** The leader's published value: anybody who can read the store sees it, but nobody logs it. */
const VALUE = 'vL4Hs8Qk1P';

let server: StoreService;
let host: string;
beforeAll(async () => {
  server = await sharedRedis();
  ({ host } = new URL(server.url));
});

async function newUser(): Promise<string> {
  const name = uniqueNamespace('marker');
  await server.ctl(['acl', 'setuser', name, 'reset', 'on', `>${MARKER}`, '~*', '&*', '+@all']);
  return name;
}

/**
 * The command line of a process, its words separated by spaces; undefined if the process is gone.
 */
function commandLineOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return undefined;
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // See proc(5): the name, in parentheses, may have any character; the state and the parent
    // follow.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

/** A process with all its descendants. */
function familyOf(pid: number): readonly number[] {
  const parents = new Map(readdirSync('/proc').map((name) => [Number(name), parentOf(Number(name))] as const));
  const childrenOf = (parent: number): readonly number[] => [...parents].filter(([, one]) => one === parent).map(([child]) => child);
  const withAll = (one: number): readonly number[] => [one, ...childrenOf(one).flatMap(withAll)];
  return withAll(pid);
}

describe('the password of a real server', () => {
  it.runIf(process.platform === 'linux')('is shown by no command, no log, no process of run and not by its reaper', async () => {
    const env = { INCUMBENT_STORE: `redis://${await newUser()}:${MARKER}@${host}/${uniqueNamespace('marker')}` };
    const options = ['--election', 'x', '--member', 'a', '--ttl', '60s', '--value', JSON.stringify({ token: VALUE }), '--verbose'];
    await using run = await spawnScript(MAIN, { args: ['run', ...options, '--accept-weak-store', 'redis', ...programThat()], env });
    const { pid: program } = (await started(run)).fields;
    const family = familyOf(run.pid);
    const lines = family.flatMap((pid) => commandLineOf(pid) ?? []);
    // The command, its program and the reaper.
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(family).toContain(program);
    expect(showing(lines)).toEqual([]);
    await using console = new TestConsole();
    const ask = (...line: readonly string[]): Promise<CommandResult> => console.run(line, { env, open: openStore });
    for (const line of [['leader', 'x', '--json'], ['candidates', 'x'], ['status', '--json'], ['doctor']]) {
      const { out, err } = await ask(...line);
      expect(out).not.toBe('');
      expect(showing([out, err])).toEqual([]);
    }
    run.sigkill();
    await run.exited;
    // The reaper kills the program and revokes the lease, which would last for most of a minute.
    await until(async () => (await ask('leader', 'x')).code === 1, { what: 'nobody leads', ...DEADLINE });
    expect(run.output.join('\n')).toContain('leads "x" in term 1');
    expect(showing(run.output)).toEqual([]);
    expect(run.output.join('\n')).not.toContain(VALUE);
  });

  it('is shown by no event, log, store, member or loss after it was changed on the server', async () => {
    using events = new EventRecorder();
    const username = await newUser();
    const said: string[] = [];
    const log = (fields: object, message: string): void => void said.push(tracesOf(fields), message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    const credentials = { username, password: MARKER };
    await using store = await openRedis({ endpoints: [host], namespace: uniqueNamespace('marker'), credentials });
    await using member = new Member(store, { memberId: 'a', ttlMs: 2_000, logger });
    const election = member.election('x', { acceptWeakStore: 'redis', value: { url: 'x' } });
    const leadership = await election.campaign();
    await using observer = new ElectionObserver(store, 'x', { logger });
    await observer.ready;
    await server.ctl(['acl', 'setuser', username, 'resetpass', '>another']);
    await server.ctl(['client', 'kill', 'user', username]);
    const end = await leadership.ended;
    expect(end.lost).toBe(true);
    const error = await observer.leader().catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    said.push(...[store, member, election, leadership, observer, observer.current, end, error].map(tracesOf));
    expect(events.texts.length).toBeGreaterThan(0);
    expect(showing([...said, ...events.texts])).toEqual([]);
  });
});
