/**
 * One process of the demo, written as any user would: it opens the store, leads whenever it is elected, and does its job while it leads.
 * The director starts three of these.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isIncumbentError, isPassing, Member, openStore, type Leadership } from 'incumbent';
import { Beliefs } from './beliefs.ts';
import { now } from './clock.ts';
import { ELECTION, isCommand, LATE_KEY, ORDERS_KEY, tell, type Command } from './messages.ts';
import { untilAnswered } from './until-answered.ts';

const JOB_EVERY_MS = 50;

const [url = '', memberId = '', ttlMs = ''] = process.argv.slice(2);
const store = await openStore(url);
const member = new Member(store, { memberId, ttlMs: Number(ttlMs) });
const call = { timeoutMs: member.timing.callTimeoutMs };
const beliefs = new Beliefs(); // for the director: what isValid() says, all the time
let command: Command | undefined;

process.on('message', (message) => void (command = isCommand(message) ? message : undefined));
process.on('SIGINT', () => {}); // Ctrl-C reaches all processes of a terminal; the director ends its members itself
process.once('disconnect', () => process.exit(1)); // a director that died needs no members
process.once('SIGTERM', () => void member.shutdown()); // hands over to the next in line

await member
  // The demo runs on any store. A program names the weak one that it accepts: 'redis'.
  .election(ELECTION, { acceptWeakStore: store.name })
  .lead(work)
  .catch((error: unknown) => {
    if (!isIncumbentError(error, 'MEMBER_CLOSED')) throw error; // SIGTERM
  });
await member.close();
await store.close();
beliefs.stop();
process.removeAllListeners('disconnect').disconnect();

/** For as long as this member leads. The signal aborts whatever waits when leadership ends; `lead` campaigns again then. */
async function work(leadership: Leadership): Promise<void> {
  const { term, signal } = leadership;
  tell({ type: 'leads', term, at: now() });
  signal.addEventListener('abort', () => tell({ type: 'ended', term, at: now() }));
  beliefs.ask(leadership);
  while (leadership.isValid()) {
    await numberAnOrder(leadership);
    const asked = command;
    command = undefined;
    if (asked?.type === 'pause') await pauseBeforeWriting(leadership);
    if (asked?.type === 'handOver') await leadership.handover(asked.to);
    await sleep(JOB_EVERY_MS, undefined, { signal });
  }
}

/** The job: orders get numbers, no number twice. The write carries the term: the store refuses it once another leads. */
async function numberAnOrder(leadership: Leadership): Promise<void> {
  try {
    const last = await store.read(ORDERS_KEY, call);
    const order = 1 + Number(new TextDecoder().decode(last?.value));
    const put = new TextEncoder().encode(String(order));
    const { swapped } = await leadership.swap([{ key: ORDERS_KEY, expect: last?.revision ?? null, put }]);
    if (swapped) tell({ type: 'numbered', term: leadership.term, order });
  } catch (error) {
    if (!isPassing(error)) throw error; // else the next round reads what has come of it
  }
}

/**
 * What no check can prevent: `isValid()` says yes, the process is stopped before the write that follows (a long collection, a suspended
 * machine, a debugger), and the write goes out when another has long been elected. Only the store can refuse it: hence the guard.
 */
async function pauseBeforeWriting(leadership: Leadership): Promise<void> {
  const { term } = leadership;
  const changes = [leadership.guard(), { key: LATE_KEY, expect: null, put: new TextEncoder().encode(memberId) }];
  if (!leadership.isValid()) return;
  tell({ type: 'pausing', term, at: now() });
  process.kill(process.pid, 'SIGSTOP'); // nothing runs here until somebody sends SIGCONT
  const woke = { at: now(), valid: beliefs.ask(leadership) };
  const { swapped } = await untilAnswered(async () => store.compareAndSwap(changes, call));
  tell({ type: 'wroteLate', term, ...woke, refused: !swapped });
}
