/**
 * Some members of a soak test in one process. It joins. At each SIGUSR2, in turn, it begins to
 * churn, or stops and measures itself. SIGTERM closes everything, measures, and ends the process.
 */

import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isRetryable } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { randomOf } from '@incumbent/test-support/random';
import { deeds, type Deed } from './deeds.ts';
import { Participant } from './participant.ts';

const [url = 'memory:', first = '0', count = '1', elections = '1', candidates = '1', members = '1', seed = '1'] = process.argv.slice(2);

/** The approximate time between two actions, in ms. */
const EVERY_MS = 250;
/** After this many ms everything that was given up is gone and can be collected. */
const SETTLE_MS = 3_000;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const random = randomOf(Number(seed) + Number(first));
const done: Record<string, number> = {};
let churning: Promise<void> | undefined;
let isOver = false;

/** Election n has the candidates n, n + 1, … of all members. */
function electionsOf(member: number): readonly string[] {
  return Array.from({ length: Number(elections) }, (_, index) => index).flatMap((index) =>
    (member - index + Number(members) * Number(elections)) % Number(members) < Number(candidates) ? [`e${index}`] : [],
  );
}

const participants: readonly Participant[] = await Promise.all(
  Array.from({ length: Number(count) }, (_, index) => Number(first) + index).map((index) =>
    Participant.open(url, `m${index}`, electionsOf(index), (problem) => emit('trouble', { problem })),
  ),
);
process.on('SIGUSR2', () => void next());
process.once('SIGTERM', () => void end());
emit('joined');

async function next(): Promise<void> {
  if (churning === undefined) {
    churning = churn();
    return;
  }
  isOver = true;
  await churning;
  await measure('measured');
}

async function churn(): Promise<void> {
  await measure('measured');
  while (!isOver) {
    await sleep(EVERY_MS * (0.5 + random()));
    const participant = participants[Math.floor(random() * participants.length)];
    const deed: Deed | undefined = deeds[Math.floor(random() * deeds.length)];
    if (participant === undefined || deed === undefined) return;
    await attempt(deed, participant);
  }
}

/**
 * A call that timed out is no leak. Any other failure ends this process, and the soak test with it.
 */
async function attempt(deed: Deed, participant: Participant): Promise<void> {
  try {
    await deed.do(participant, random);
    tally(deed.name);
  } catch (error) {
    if (!isRetryable(error)) throw error;
    tally('unanswered');
  }
}

function tally(name: string): void {
  done[name] = (done[name] ?? 0) + 1;
}

/**
 * Memory in bytes after garbage collection, the kinds of handles that keep the process alive, and
 * open files.
 */
async function measure(event: string): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await sleep(SETTLE_MS);
    collect();
  }
  const losses = participants.reduce((sum, participant) => sum + participant.losses, 0);
  const { heapUsed, rss } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout' && kind !== 'Immediate').length;
  emit(event, { heap: heapUsed, rss, handles, files: readdirSync('/proc/self/fd').length, done: { ...done, losses } });
}

async function end(): Promise<void> {
  await Promise.all(participants.map((participant) => participant.close()));
  await measure('closed');
  process.exit(0);
}
