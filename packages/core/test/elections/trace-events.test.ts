/** The events from which a failover can be traced. */

import diagnosticsChannel from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import type { TelemetryEvent } from '../../src/index.ts';
import { Telemetry } from '../../src/base/telemetry.ts';
import { Events } from '../support/events.ts';
import { track } from '../support/track.ts';
import { NAME, TTL_MS, World } from '../support/world.ts';

const TRACED = ['notified', 'claimed', 'elected', 'workStarted', 'ended', 'drained', 'released'] as const;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function listen(event: TelemetryEvent, listener: (fields: object) => void): void {
  const take = (message: unknown): void => {
    if (typeof message === 'object' && message !== null) listener(message);
  };
  diagnosticsChannel.subscribe(`incumbent:${event}`, take);
  stops.push(() => diagnosticsChannel.unsubscribe(`incumbent:${event}`, take));
}

/** The traced events from now on, with the member that each is about. */
function record(): { readonly event: string; readonly memberId?: unknown }[] {
  const seen: { readonly event: string }[] = [];
  for (const event of TRACED) listen(event, (fields) => seen.push({ event, ...fields }));
  return seen;
}

describe('a failover', () => {
  it('after a resignation is told step by step, by the old leader and by the next one', async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    track(world.member('b').election(NAME).campaign());
    await world.pass(100);
    const seen = record();
    await world.run(first.resign());
    await world.pass(100);
    expect(seen.filter(({ memberId }) => memberId === 'a').map(({ event }) => event)).toEqual(['ended', 'drained', 'released']);
    expect(seen.filter(({ memberId }) => memberId === 'b').map(({ event }) => event)).toEqual([
      'notified',
      'claimed',
      'elected',
      'workStarted',
    ]);
    const about = { election: NAME, term: 1n };
    expect(seen.find(({ event }) => event === 'ended')).toMatchObject({ ...about, abortMs: 0 });
    expect(seen.find(({ event }) => event === 'drained')).toMatchObject({ ...about, stopped: true });
    expect(seen.find(({ event }) => event === 'claimed')).toMatchObject({ election: NAME, term: 2n, endedTerm: 1n, outcome: 'elected' });
    expect(seen.find(({ event }) => event === 'elected')).toMatchObject({
      previousTerm: 1n,
      previousMember: 'a',
      previousReason: 'resigned',
    });
  });

  it('after a handover has no claim: the successor is notified and elected', async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    track(world.member('b').election(NAME).campaign());
    await world.pass(100);
    const seen = record();
    await world.run(first.handover('b'));
    await world.pass(100);
    const ofNext = seen.filter(({ memberId }) => memberId === 'b');
    expect(ofNext.map(({ event }) => event)).toEqual(['notified', 'elected', 'workStarted']);
    expect(ofNext[0]).toMatchObject({ election: NAME, why: 'handedOver' });
  });

  it('after a crash tells that the entry ahead is gone', async () => {
    const world = new World();
    const store = world.connect();
    track(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(100);
    track(world.member('b').election(NAME).campaign());
    await world.pass(100);
    const seen = record();
    store.link.cutOff();
    await world.pass(2 * TTL_MS);
    expect(seen.find(({ event }) => event === 'notified')).toMatchObject({ memberId: 'b', why: 'aheadGone' });
    expect(seen.find(({ event }) => event === 'elected')).toMatchObject({ memberId: 'b', previousReason: 'expired' });
    store.link.heal();
  });

  it('tells that the outcome of a claim is unknown', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    await world.run(member.election('other').campaign());
    const seen = record();
    store.link.dropReplies(1, { operations: ['compareAndSwap'] });
    track(member.election(NAME).campaign());
    await world.pass(TTL_MS);
    expect(seen.flatMap((fields) => ('outcome' in fields ? [fields.outcome] : []))).toEqual(['unknown']);
  });

  it('tells that a candidate which waited too long passes over the one ahead', async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    const hung = world.connect();
    track(world.member('b', {}, hung).election(NAME).campaign());
    await world.pass(100);
    track(world.member('c').election(NAME).campaign());
    await world.pass(100);
    const seen = record();
    hung.link.stallWatches();
    await world.run(first.resign());
    await world.pass(2 * TTL_MS);
    expect(seen.find(({ event, memberId }) => event === 'notified' && memberId === 'c')).toMatchObject({
      why: 'claimTimedOut',
      waitedMs: 1.5 * TTL_MS,
    });
  });
});

describe('the events for traces', () => {
  it('are never logged', async () => {
    const world = new World();
    const first = await world.elect(world.member('a'));
    await world.run(first.resign());
    const logged = world.events.all.map(({ fields }) => fields['event']);
    for (const event of ['notified', 'claimed', 'workStarted', 'drained']) expect(logged).not.toContain(event);
  });

  it('are wanted only while their channel has a subscriber', () => {
    const telemetry = new Telemetry(new Events(), {});
    expect(telemetry.wants('claimed')).toBe(false);
    listen('claimed', () => {});
    expect(telemetry.wants('claimed')).toBe(true);
  });

  it('do not change what a logger wants', () => {
    expect(new Telemetry(new Events(), {}).wants('elected')).toBe(true);
    expect(new Telemetry(undefined, {}).wants('elected')).toBe(false);
  });
});
