import diagnosticsChannel from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import type { Logger, TelemetryEvent } from '../../src/index.ts';
import { Telemetry } from '../../src/base/telemetry.ts';
import { Events } from '../support/events.ts';
import { track } from '../support/track.ts';
import { uncaughtDuring } from '../support/uncaught.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

const subscriptions: (() => void)[] = [];

function subscribe(event: TelemetryEvent, listener: (message: unknown) => void): void {
  const name = `incumbent:${event}`;
  diagnosticsChannel.subscribe(name, listener);
  subscriptions.push(() => diagnosticsChannel.unsubscribe(name, listener));
}

afterEach(() => {
  for (const stop of subscriptions.splice(0)) stop();
});

describe('an event', () => {
  it('goes to its channel and to the logger, with the member or observer that it is about', () => {
    const events = new Events();
    const seen: unknown[] = [];
    subscribe('elected', (message) => seen.push(message));
    new Telemetry(events, { memberId: 'a', store: 'memory' }).emit('elected', { term: 3n });
    expect(seen).toEqual([{ memberId: 'a', store: 'memory', term: 3n }]);
    expect(events.all).toEqual([
      { level: 'info', message: 'elected', fields: { event: 'elected', memberId: 'a', store: 'memory', term: '3' } },
    ]);
  });

  it('comes to the logger as any logger can write it, and to the channel as it is', () => {
    const events = new Events();
    const seen: unknown[] = [];
    subscribe('ended', (message) => seen.push(message));
    const error = new Error('no answer');
    const fields = { term: 2n ** 60n, error, errors: [error, error, 'text'], keys: ['a', 'b'], atMs: 5.04321, none: undefined };
    new Telemetry(events, {}).emit('ended', fields);
    expect(seen).toEqual([fields]);
    const [logged] = events.all;
    expect(logged?.fields).toMatchObject({ term: String(2n ** 60n), err: error, keys: ['a', 'b'], atMs: 5 });
    expect(JSON.parse(JSON.stringify(logged?.fields))).toMatchObject({ errors: ['Error: no answer (2 times)', 'text'] });
  });

  it('is logged as a warning when it tells of a loss, and hardly at all when a member closes', () => {
    const events = new Events();
    const telemetry = new Telemetry(events, {});
    telemetry.emit('ended', { lost: true });
    telemetry.emit('ended', { lost: false });
    telemetry.emit('sessionEnded', { reason: 'deadline' });
    telemetry.emit('sessionEnded', { reason: 'memberClosed' });
    expect(events.all.map(({ level }) => level)).toEqual(['warn', 'info', 'warn', 'debug']);
  });

  it('goes to its channel without a logger, and nowhere without both', () => {
    const seen: unknown[] = [];
    const telemetry = new Telemetry(undefined, {});
    telemetry.emit('elected');
    subscribe('elected', (message) => seen.push(message));
    telemetry.emit('elected', { term: 1n });
    telemetry.emit('ended');
    expect(seen).toEqual([{ term: 1n }]);
  });

  it.each(['debug', 'info', 'warn', 'error'] as const)('that a logger cannot take harms nobody: %s throws', (level) => {
    const failing: Logger = new Proxy(new Events(), {
      get: (events, name) => (name === level ? () => raise(new Error('the disk is full')) : Reflect.get(events, name)),
    });
    const telemetry = new Telemetry(failing, {});
    for (const event of ['sessionOpened', 'elected', 'sessionSuspect', 'stuck'] as const) expect(() => telemetry.emit(event)).not.toThrow();
  });

  it('does not reach a method of the logger without its logger', () => {
    class Counting implements Logger {
      count = 0;
      debug(): void {
        this.count += 1;
      }
      info(): void {
        this.count += 1;
      }
      warn(): void {
        this.count += 1;
      }
      error(): void {
        this.count += 1;
      }
    }
    const logger = new Counting();
    new Telemetry(logger, {}).emit('elected');
    expect(logger.count).toBe(1);
  });
});

describe('an event that may happen many times a minute', () => {
  it('is logged once a minute, with the number of events since then, and published each time', () => {
    const events = new Events();
    const seen: unknown[] = [];
    subscribe('loopLag', (message) => seen.push(message));
    const telemetry = new Telemetry(events, { memberId: 'a' });
    for (let nowMs = 0; nowMs <= 180_000; nowMs += 1_500) telemetry.emitOften('loopLag', { blockedMs: nowMs }, nowMs);
    expect(seen.length).toBe(121);
    expect(events.all.map(({ level, fields }) => [level, fields['blockedMs'], fields['skipped']])).toEqual([
      ['warn', 0, undefined],
      ['warn', 60_000, 39],
      ['warn', 120_000, 39],
      ['warn', 180_000, 39],
    ]);
  });

  it('is limited apart from other events and other members', () => {
    const events = new Events();
    const [a, b] = ['a', 'b'].map((memberId) => new Telemetry(events, { memberId }));
    for (const telemetry of [a, b, a]) telemetry?.emitOften('loopLag', {}, 0);
    a?.emitOften('sessionSuspect', {}, 0);
    expect(events.all.map(({ fields }) => [fields['memberId'], fields['event']])).toEqual([
      ['a', 'loopLag'],
      ['b', 'loopLag'],
      ['a', 'sessionSuspect'],
    ]);
  });
});

describe('a call to the store that is tried again', () => {
  const [joining, looking] = [
    { doing: 'joining', error: undefined },
    { doing: 'looking', error: undefined },
  ] as const;

  it('is limited in the log by what the member was doing', () => {
    const events = new Events();
    const telemetry = new Telemetry(events, {});
    for (const nowMs of [0, 2_000, 4_000, 60_000]) {
      telemetry.emitOften('retry', joining, nowMs);
      if (nowMs > 0) telemetry.emitOften('retry', looking, nowMs);
    }
    expect(events.all.map(({ fields }) => [fields['doing'], fields['skipped']])).toEqual([
      ['joining', undefined],
      ['looking', undefined],
      ['joining', 2],
    ]);
  });

  it('is logged once a minute for each step of a member, through an outage of the store', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    track(member.election(NAME).lead(async ({ ended }) => void (await ended)));
    await world.pass(100);
    let published = 0;
    subscribe('retry', () => (published += 1));
    store.link.refuse();
    await world.pass(75_000);
    const steps = world.events.about('tried again').map(({ doing }) => doing);
    expect(steps).toEqual(['revokingLease', 'openingSession', 'openingSession', 'revokingLease']);
    expect(published).toBeGreaterThan(20);
    await world.run(member.close());
  });
});

describe('a life of a member', () => {
  it('emits its events in order: session, queue, election, end, release', async () => {
    const world = new World();
    const member = world.member('a');
    const leadership = await world.elect(member);
    await world.run(leadership.resign());
    await world.run(member.close());
    expect(world.events.all.map(({ message }) => message)).toEqual([
      'session opened',
      'joined the queue of an election',
      'elected',
      'leadership ended',
      'leadership released',
      'session ended',
      'the member has closed',
    ]);
    for (const { fields } of world.events.all)
      expect(fields).toMatchObject({ store: 'memory', memberId: 'a', incarnation: member.incarnation });
  });

  it('goes on although every word of it makes the logger throw', async () => {
    const world = new World();
    const logger = new Proxy(new Events(), { get: () => () => raise(new Error('the disk is full')) });
    const member = world.member('a', { logger });
    const terms: bigint[] = [];
    track(
      member.election(NAME).lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    await world.run(member.close());
    expect(terms).toEqual([1n, 2n]);
    world.expectNothingLeft();
  });

  it('goes on although a subscriber of its channels throws, which Node raises as an uncaught exception', async () => {
    const world = new World();
    subscribe('ended', () => raise(new Error('the subscriber failed')));
    const leadership = await world.elect(world.member('a'));
    const caught = await uncaughtDuring(() => world.run(leadership.resign()));
    expect(caught).toMatchObject([{ message: 'the subscriber failed' }]);
    expect(world.queue()).toEqual([]);
  });

  it('warns of the errors of the store, with the error', async () => {
    const world = new World();
    const store = world.connect();
    store.link.refuse();
    track(world.member('a', {}, store).election(NAME).campaign());
    await world.pass(100);
    expect(world.events.about('tried again')).toMatchObject([{ doing: 'openingSession', err: { code: 'UNREACHABLE' } }]);
  });
});

function raise(error: Error): never {
  throw error;
}
