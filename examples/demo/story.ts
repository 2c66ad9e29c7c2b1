/** The acts of the demo, in order. */

import { now } from './clock.ts';
import { toldOf, type Told } from './history.ts';
import type { MemberProcess } from './member-process.ts';
import { bad, good, MEMBERS, who } from './screen.ts';
import { START_WITHIN_MS, type Stage, StoryEnds } from './stage.ts';

/** How long a member may take to do what it is told, or to end. */
const DONE_WITHIN_MS = 10_000;

/** All acts, or up to the one in which a promise was broken so that the next cannot be played. Throws when a member crashes. */
export async function play(stage: Stage): Promise<void> {
  try {
    for (const act of [start, kill, pause, handOver, terminate]) {
      await act(stage);
      await stage.between();
    }
  } catch (error) {
    if (!(error instanceof StoryEnds)) throw error;
  }
  await leave(stage);
}

async function start(stage: Stage): Promise<void> {
  const { cast, screen } = stage;
  screen.act(1, 'Three processes campaign');
  const at = now();
  for (const member of MEMBERS) cast.start(member);
  await stage.succeed('start', { limitMs: START_WITHIN_MS, since: 0, endedAt: async () => at });
  await stage.tellLine();
}

async function kill(stage: Stage): Promise<void> {
  const { cast, screen, leader } = stage;
  screen.act(2, 'The leader is killed (SIGKILL)');
  const since = cast.told.length;
  const at = now();
  leader.kill();
  screen.tell(bad('✗'), `${who(leader.member)} is killed`);
  await stage.succeed('SIGKILL', { leader, limitMs: stage.expiryLimitMs, since, endedAt: async () => at });
  cast.start(leader.member);
  await stage.tellLine(`${who(leader.member)} is started again; `);
}

async function pause(stage: Stage): Promise<void> {
  const { cast, screen, leader } = stage;
  screen.act(3, 'The leader is paused (SIGSTOP), and wakes when another leads');
  const since = cast.told.length;
  leader.command({ type: 'pause' });
  const { event } = await hear(stage, 'pausing', since, leader);
  screen.tell(bad('‖'), `${who(leader.member)} stands still, between its isValid() and its write`);
  await stage.succeed('SIGSTOP', { leader, limitMs: stage.expiryLimitMs, since, endedAt: async () => event.at });
  await stage.between();
  screen.note(`${who(leader.member)} wakes, and sends its write with the old term ${event.term}`);
  leader.wake();
  const { refused, valid } = (await hear(stage, 'wroteLate', since, leader)).event;
  screen.tell(refused ? good('✓') : bad('✗'), refused ? 'the store refuses it: a newer term has begun' : 'the store takes it');
  screen.tell(valid ? bad('✗') : good('✓'), `its isValid() says ${valid}`);
  await stage.tellLine();
}

/** Not to the next in line but to the last, to show that it is a choice. */
async function handOver(stage: Stage): Promise<void> {
  const { cast, screen, leader } = stage;
  screen.act(4, 'The leader hands over, by name');
  const named = (await stage.inLine()).at(-1) ?? '';
  const since = cast.told.length;
  leader.command({ type: 'handOver', to: named });
  screen.note(`${who(leader.member)} is asked to hand over to ${who(named)}`);
  await stage.succeed('handover', { leader, named, limitMs: stage.plannedLimitMs, since, endedAt: endOf(stage, since, leader) });
  await stage.tellLine();
}

async function terminate(stage: Stage): Promise<void> {
  const { cast, screen, leader } = stage;
  screen.act(5, 'The leader is told to stop (SIGTERM), as by a deployment');
  const since = cast.told.length;
  leader.terminate();
  screen.note(`${who(leader.member)} hands over to the next in line, and ends`);
  await stage.succeed('SIGTERM', { leader, limitMs: stage.plannedLimitMs, since, endedAt: endOf(stage, since, leader) });
}

/** The leader last: it would hand over to the others. */
async function leave({ cast }: Stage): Promise<void> {
  const leader = toldOf(cast.told, 'leads').at(-1)?.member;
  for (const one of cast.alive.toSorted((a, b) => Number(a.member === leader) - Number(b.member === leader))) {
    one.terminate();
    one.wake(); // if the story ended while it was paused
    await cast.until(() => one.end, DONE_WITHIN_MS);
  }
}

/** Processes tell independently: a leader's end may be heard of after the next one's start. */
function endOf(stage: Stage, since: number, leader: MemberProcess): () => Promise<number> {
  return async () => (await hear(stage, 'ended', since, leader)).event.at;
}

async function hear<T extends 'ended' | 'pausing' | 'wroteLate'>(
  { cast }: Stage,
  type: T,
  since: number,
  by: MemberProcess,
): Promise<Told<T>> {
  const told = await cast.hear(type, { withinMs: DONE_WITHIN_MS, since, by });
  if (told === undefined) throw new Error(`${by.member} was not heard of any more (${type})`);
  return told;
}
