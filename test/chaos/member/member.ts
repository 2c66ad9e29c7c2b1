/**
 * A member under faults, in a process of its own. It leads whenever it can, works meanwhile, and
 * reports whether it is valid. Its work is careless on purpose. It checks that it leads, prepares a
 * write, and sends it without another check. It also writes once more long after it was told to
 * stop. So stale writes happen, and must be rejected.
 */

import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionObserver, isIncumbentError, Member, openStore, type ElectionView, type Leadership, type Store } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { ELECTION } from '../names.ts';
import { announce } from './announce.ts';
import { Validity } from './validity.ts';
import { Journal } from './journal.ts';
import { WatchGate } from './watch-gate.ts';

const [url = 'memory:', memberId = 'm', ttlMs = '3000', port = '0'] = process.argv.slice(2);

/** How often a leader calls `isValid()`, in ms. */
const ASK_MS = 5;
/** The longest time to prepare a write and the time between two writes, in ms. */
const PREPARE_MS = 60;
const PAUSE_MS = 40;
/** The work that was told to stop writes for the last time up to this many ttls later. */
const LATE_TTLS = 1.5;

const hub = createConnection({ port: Number(port), host: '127.0.0.1', noDelay: true });
hub.on('error', () => {});
let leaving = false;
let heldValidity: Validity | undefined;

watchClock();
announce();
const watches = new WatchGate();
const store = watches.guard(await open());
const member = new Member(store, { memberId, ttlMs: Number(ttlMs) });
const election = member.election(ELECTION, weakStore(store));
const observer = new ElectionObserver(store, ELECTION);
observer.subscribe((view) => emit('shown', simple(view)));
process.once('SIGTERM', () => void leave());
createInterface({ input: hub }).on('line', (line) => void obey(line));
hub.write(`${JSON.stringify({ pid: process.pid })}\n`);
const { endsEarly, expiresWithinMs } = store.capabilities;
emit('ready', { endsEarly, expiresWithinMs: expiresWithinMs(Number(ttlMs)) });

while (!leaving) await campaign();

async function campaign(): Promise<void> {
  try {
    await election.lead(work);
  } catch (error) {
    if (leaving) return;
    // An outage of the store may keep the former process's lease alive. The member reports it and
    // tries again.
    emit(isIncumbentError(error, 'DUPLICATE_MEMBER') ? 'duplicate' : 'failed', { error: String(error) });
    await sleep(100);
  }
}

async function open(): Promise<Store> {
  for (;;) {
    try {
      return await openStore(url);
    } catch (error) {
      emit('trouble', { error: String(error) });
      await sleep(200);
    }
  }
}

async function work(leadership: Leadership): Promise<void> {
  const at = process.hrtime.bigint();
  // Reported only if it is still valid: the process may have been stopped just before.
  if (!leadership.isValid()) return;
  const { term } = leadership;
  emit('elected', { term, from: at });
  const validity = new Validity(leadership);
  heldValidity = validity;
  void leadership.ended.then(({ reason, lost, loopBlockedMs, lastRenewalAt }) => {
    validity.tell();
    emit('ended', { term, reason, lost, loopBlockedMs, renewedMsAgo: Date.now() - lastRenewalAt });
  });
  const asking = setInterval(() => validity.ask(), ASK_MS);
  const journal = new Journal(store, leadership);
  while (validity.ask()) {
    await sleep(Math.random() * PREPARE_MS);
    send(term);
    await journal.write();
    await sleep(PAUSE_MS);
  }
  clearInterval(asking);
  emit('stopped', { term });
  void writeLate(term, journal);
}

/** A worker that did not learn that the leadership has ended. */
async function writeLate(term: bigint, journal: Journal): Promise<void> {
  await sleep(Math.random() * LATE_TTLS * Number(ttlMs), undefined, { ref: false });
  send(term);
  await journal.write();
}

function send(term: bigint): void {
  hub.write(`${JSON.stringify({ write: String(term) })}\n`);
}

async function obey(line: string): Promise<void> {
  const order: unknown = JSON.parse(line);
  if (typeof order !== 'object' || order === null) return;
  if ('block' in order) block(Number(order.block));
  if ('answer' in order) await answer();
  if ('watches' in order) {
    if (order.watches === 'silent') watches.close();
    else watches.open();
  }
}

/** Blocks the event loop. Code that runs in it may call `isValid()`. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;) {
    const next = performance.now() + ASK_MS;
    while (performance.now() < next);
    heldValidity?.ask();
  }
}

async function answer(): Promise<void> {
  const read = await observer.leader().catch(() => undefined);
  emit('answered', { view: simple(observer.current), read: read?.term });
}

function simple(view: ElectionView): Readonly<Record<string, unknown>> {
  switch (view.state) {
    case 'leader':
      return { state: view.state, term: view.term, reason: view.reason };
    case 'vacant':
      return { state: view.state, term: view.term, reason: view.reason };
    case 'unknown':
      return { state: view.state };
    default:
      return view satisfies never;
  }
}

/** Reports every jump of the wall clock against the monotonic clock. */
function watchClock(): void {
  let apart = Date.now() - performance.now();
  setInterval(() => {
    const now = Date.now() - performance.now();
    if (Math.abs(now - apart) > 1_000) emit('jumped', { byMs: Math.round(now - apart) });
    apart = now;
  }, 50).unref();
}

async function leave(): Promise<void> {
  leaving = true;
  await member.shutdown();
  await observer.close();
  await store.close();
  emit('closed');
  process.exit(0);
}
