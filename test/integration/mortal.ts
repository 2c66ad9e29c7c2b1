/**
 * A process that leads, has a reaper, and dies in a chosen way on SIGUSR2. Started by
 * `reaper.test.ts`. Arguments: the store's URL, the member id, the ttl in ms, and the way.
 */

import { fork, spawn } from 'node:child_process';
import cluster from 'node:cluster';
import diagnosticsChannel from 'node:diagnostics_channel';
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Member, openStore, reaper, type Leadership } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';

const HEARTBEAT = fileURLToPath(new URL('./heartbeat.ts', import.meta.url));

const [url = 'memory:', memberId = 'm', ttlMs = '10000', fate = 'waits'] = process.argv.slice(2);

function ownSockets(): readonly string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  });
}

const store = await openStore(url);
const shared = reaper();
const member = new Member(store, { memberId, ttlMs: Number(ttlMs), reaper: shared });
const before = ownSockets();
for (const event of ['reaperReady', 'reaperLost', 'waiting'])
  diagnosticsChannel.subscribe(`incumbent:${event}`, (fields) =>
    emit(event, { pid: typeof fields === 'object' && fields !== null && 'pid' in fields ? fields.pid : undefined }),
  );
process.once('SIGTERM', () => void close());
process.on('SIGUSR2', die);

async function close(): Promise<void> {
  await member.close();
  emit('closed');
  await store.close();
}

// Errors are expected; the events report how the process ends.
member
  .election('mortal', weakStore(store))
  .lead(work)
  .catch(() => {});

async function work(leadership: Leadership): Promise<void> {
  startChildren();
  emit('elected', { term: leadership.term });
  await leadership.ended;
  emit('ended');
  if (fate === 'has a group, and is stuck') await new Promise(() => {});
}

/** Starts a child that survives this process and emits its name every few ms. */
function startChild(kind: string): void {
  const args = ['--conditions=@incumbent/source', HEARTBEAT, kind];
  switch (kind) {
    case 'fork':
      fork(HEARTBEAT, [kind], { detached: true, execArgv: args.slice(0, 1) }).unref();
      return;
    case 'inherit':
      spawn(process.execPath, args, { detached: true, stdio: 'inherit' }).unref();
      return;
    default:
      cluster.setupPrimary({ exec: HEARTBEAT, args: [kind], execArgv: args.slice(0, 1) });
      cluster.fork();
  }
}

/** Dies in the chosen way. */
function die(): void {
  switch (fate) {
    case 'throws':
      throw new Error('an uncaught error');
    case 'exits':
      process.exit(0);
    case 'fills its memory': {
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
    }
    case 'closes the pipe by mistake': {
      const pipes = ownSockets().filter((fd) => !before.includes(fd));
      emit('closing', { pipes: pipes.length });
      for (const fd of pipes) closeSync(Number(fd));
      return;
    }
    default:
  }
}

/** Starts the children that the way of dying needs. */
function startChildren(): void {
  switch (fate) {
    case 'has children':
      for (const kind of ['fork', 'inherit', 'cluster']) startChild(kind);
      return;
    case 'has a group':
    case 'has a group, and is stuck': {
      // A shell as the group's first process, with two children, one of which ignores SIGTERM.
      const node = `"${process.execPath}" --conditions=@incumbent/source "${HEARTBEAT}"`;
      const shell = spawn('/bin/sh', ['-c', `${node} plain & ${node} deaf & wait`], { detached: true, stdio: 'inherit' });
      shared.bindGroup(shell.pid ?? 0);
      return;
    }
    default:
  }
}
