/** The acts of the demo, in order. */

import { now } from '../events.ts';
import type { Moment } from '../faults.ts';
import type { BrokerProcess } from './broker-process.ts';
import { heardOf } from './cluster.ts';
import { bad, BROKERS, good, strong, who } from './screen.ts';
import type { Producers } from './producers.ts';
import { type Expected, type Stage, StoryEnds } from './stage.ts';

/** How long a broker may take to carry out a command or to end, in ms. */
const DONE_WITHIN_MS = 15_000;
/** Topics with their numbers of partitions. */
export const TOPICS: Readonly<Record<string, number>> = { orders: 6, payments: 4 };
const OTHERS = BROKERS.length - 1;
/**
 * A topic that a paused controller is about to create. Its write is rejected, so the topic never
 * exists.
 */
export const LATE_TOPIC = 'late';

/**
 * Runs all acts, or stops after one whose failure makes the next impossible. Throws if a broker
 * crashes.
 */
export async function play(stage: Stage, { producers, short }: { readonly producers: Producers; readonly short: boolean }): Promise<void> {
  const acts = short ? [kill, pauseBeforeWrite, handOver] : [kill, pauseBeforeWrite, pauseBeforeRequest, handOver, roll];
  try {
    await start(stage, producers);
    for (const act of acts) {
      await stage.between();
      await act(stage);
    }
    await stage.between();
  } catch (error) {
    if (!(error instanceof StoryEnds)) throw error;
  }
}

async function start(stage: Stage, producers: Producers): Promise<void> {
  const { screen } = stage;
  screen.act('Five brokers start, and one of them is the controller');
  const expected = { since: 0, begun: now() };
  const starting = stage.start(...BROKERS);
  await stage.succeeds(expected);
  await starting;
  if (stage.serve) screen.tell(good('→'), `watch it: ${strong(stage.urls[0] ?? '')}`);
  await stage.tellLine(OTHERS);
  for (const [topic, partitions] of Object.entries(TOPICS)) await stage.createTopic(topic, partitions);
  await stage.settled();
  screen.note('topics orders and payments: 10 partitions, 3 replicas of each');
  producers.start();
  screen.note('three producers send messages from now on, until the end');
  stage.conclude('start', expected);
}

async function kill(stage: Stage): Promise<void> {
  const { cluster, screen, controller } = stage;
  screen.act('The controller is killed (SIGKILL), and with it a broker');
  const expected = expect(stage);
  controller.kill();
  screen.tell(bad('✗'), `${who(controller.broker)} is killed`);
  await stage.succeeds(expected);
  await stage.ledBy({ than: controller.broker });
  screen.note('its partitions are led by others, which were in sync');
  await cluster.until(() => controller.end, DONE_WITHIN_MS);
  await stage.start(controller.broker);
  await stage.settled();
  screen.note(`${who(controller.broker)} is started again, catches up, and leads what it is preferred for`);
  stage.conclude('SIGKILL', expected);
}

async function pauseBeforeWrite(stage: Stage): Promise<void> {
  stage.screen.act('The controller is paused (SIGSTOP), about to write to the store');
  const { woken, expected, term } = await pause(stage, 'write', LATE_TOPIC);
  const refused = await stage.cluster.until(
    () => heardOf(stage.cluster.heard, 'refused').find(({ event }) => event.by === 'store' && event.stale === term),
    DONE_WITHIN_MS,
  );
  stage.screen.tell(refused ? good('✓') : bad('✗'), refused ? 'the store refuses it: a newer term has begun' : 'the store takes it');
  await recover(stage, woken);
  stage.conclude('paused, before a write', expected);
}

async function pauseBeforeRequest(stage: Stage): Promise<void> {
  stage.screen.act('The next one is paused, about to tell the brokers what it wrote');
  const { woken, expected, term } = await pause(stage, 'request', 'audit');
  const refusals = await stage.cluster.until(() => {
    const found = heardOf(stage.cluster.heard, 'refused').filter(({ event }) => event.by === 'broker' && event.stale === term);
    return found.length > 0 ? found : undefined;
  }, DONE_WITHIN_MS);
  stage.screen.tell(refusals ? good('✓') : bad('✗'), refusals ? 'brokers refuse it, and answer with the newer term' : 'nobody refuses it');
  await recover(stage, woken);
  stage.conclude('paused, before a request', expected);
}

interface Paused {
  readonly woken: BrokerProcess;
  readonly expected: Expected;
  /** The term in which it was stopped. */
  readonly term: bigint | undefined;
}

/** The controller is paused while it creates a topic, until another controller has been elected. */
async function pause(stage: Stage, moment: Moment, topic: string): Promise<Paused> {
  const { cluster, screen, controller } = stage;
  const expected = expect(stage);
  await cluster.order(controller.broker, { type: 'stopBefore', moment }, DONE_WITHIN_MS);
  const asking = stage.send(stage.urlOf(controller), '/create-topic', { topic, partitions: 2, replicationFactor: 3 });
  asking.catch(() => {}); // it is not going to answer
  const stopped = await cluster.waitForEvent('stopping', { withinMs: DONE_WITHIN_MS, since: expected.since, by: controller.broker });
  if (stopped === undefined) throw new Error(`${controller.broker} was not heard of any more`);
  const { term } = stopped.event;
  screen.tell(bad('‖'), `${who(controller.broker)} stands still, between its last check and its ${moment}`);
  if ((await stage.succeeds(expected)) === undefined) stage.conclude('SIGKILL', expected);
  await stage.ledBy({ than: controller.broker });
  await stage.between();
  screen.note(`${who(controller.broker)} wakes, and goes on in its term ${term}`);
  controller.resume();
  return { woken: controller, expected, term };
}

async function recover(stage: Stage, woken: BrokerProcess): Promise<void> {
  await stage.settled();
  await stage.tellLine(OTHERS);
  stage.screen.note(`${who(woken.broker)} is a follower now, and in sync again`);
}

/** To the last candidate and not to the next in line, to show that the choice is free. */
async function handOver(stage: Stage): Promise<void> {
  const { screen, controller } = stage;
  screen.act('The controller hands over, by name');
  const named = (await stage.inLine()).at(-1) ?? '';
  const expected = { ...expect(stage), named };
  screen.note(`${who(controller.broker)} is asked to hand over to ${who(named)}`);
  await stage.send(stage.urlOf(controller), '/hand-over', { to: named });
  await stage.succeeds(expected);
  await stage.tellLine(OTHERS);
  stage.conclude('handover by name', expected);
}

async function roll(stage: Stage): Promise<void> {
  const { cluster, screen } = stage;
  screen.act('All brokers are restarted (SIGTERM), one after the other');
  const expected = expect(stage);
  for (const broker of BROKERS) {
    const process = cluster.running(broker);
    const wasController = process === stage.controller;
    process.terminate();
    await cluster.until(() => process.end, DONE_WITHIN_MS);
    await stage.start(broker);
    await stage.settled();
    screen.note(`${who(broker)}${wasController ? ', the controller, hands over,' : ''} stops, starts, and is in sync`);
  }
  stage.conclude('rolling restart', expected);
}

/** Stops the other brokers before the controller, which would otherwise hand over to them. */
export async function leave({ cluster }: Stage): Promise<void> {
  const controller = heardOf(cluster.heard, 'elected').at(-1)?.broker;
  for (const one of cluster.alive.toSorted((a, b) => Number(a.broker === controller) - Number(b.broker === controller))) {
    one.terminate();
    one.resume(); // if the story ended while it was paused
    await cluster.until(() => one.end, DONE_WITHIN_MS);
  }
}

function expect(stage: Stage): Expected & { readonly controller: BrokerProcess } {
  return { controller: stage.controller, since: stage.cluster.heard.length, begun: now() };
}
