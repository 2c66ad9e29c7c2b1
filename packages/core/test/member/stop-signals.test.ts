import { constants } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endByDefault } from '../../src/adapter.ts';
import type { Member } from '../../src/index.ts';
import { LEADER, NAME, World } from '../support/world.ts';

/** Signals that the runner of the tests does not listen to. */
const [FIRST, SECOND] = ['SIGUSR2', 'SIGBREAK'] as const;

function listening(): number {
  return process.listenerCount(FIRST) + process.listenerCount(SECOND);
}

/** A member that leads, with another one behind it. */
async function leading(world: World): Promise<Member> {
  const member = world.member('a');
  await world.elect(member);
  void world.member('b').election(NAME).campaign();
  await world.until(() => world.queue().length === 2);
  member.shutdownOn(FIRST, SECOND);
  return member;
}

describe('shutdownOn', () => {
  it('hands over and closes at the first signal', async () => {
    const world = new World();
    const member = await leading(world);
    process.emit(FIRST, FIRST);
    expect(member.state).toBe('closed');
    await world.until(() => world.queue()[0] === 'b');
    expect(world.events.about('leadership ended')).toMatchObject([{ memberId: 'a', reason: 'memberClosed' }]);
    expect(world.json(LEADER)).toMatchObject({ memberId: 'b', previous: { reason: 'handover' } });
    await world.pass(500);
    await world.close();
  });

  it('counts a signal that follows at once as the same, and leaves later ones their former effect', async () => {
    const world = new World();
    const member = await leading(world);
    process.emit(FIRST, FIRST);
    expect(listening()).toBe(2);
    process.emit(SECOND, SECOND);
    await world.pass(499);
    expect(listening()).toBe(2);
    await world.pass(1);
    expect([listening(), member.state]).toEqual([0, 'closed']);
    await world.close();
  });

  it('listens until a close that the program began has ended, and counts a signal meanwhile as a first one', async () => {
    const world = new World();
    const member = await leading(world);
    const work = Promise.withResolvers<void>();
    member.election(NAME).leadership?.waitUntil(work.promise);
    const closing = member.close();
    await world.pass(100);
    expect([listening(), member.state]).toEqual([2, 'closed']);
    process.emit(FIRST, FIRST);
    await world.pass(499);
    expect(listening()).toBe(2);
    await world.pass(1);
    expect(listening()).toBe(0);
    work.resolve();
    await world.run(closing);
    await world.close();
  });

  it('listens for a member that closes already', async () => {
    const world = new World();
    const member = await leading(world);
    const closing = member.close();
    const other = world.member('c');
    other.shutdownOn(FIRST);
    await world.run(closing);
    expect(listening()).toBe(1);
    const closingOther = other.close();
    other.shutdownOn(SECOND);
    expect(listening()).toBe(2);
    await world.run(closingOther);
    expect(listening()).toBe(0);
    await world.close();
  });

  it('adds one listener for any number of members, and removes it after the last one', async () => {
    const world = new World();
    const members = Array.from({ length: 11 }, (_, i) => world.member(`m${i}`));
    for (const member of members) member.shutdownOn(FIRST);
    expect(listening()).toBe(1);
    await world.run(Promise.all(members.slice(1).map((member) => member.close())));
    expect(listening()).toBe(1);
    process.emit(FIRST, FIRST);
    expect(members[0]?.state).toBe('closed');
    await world.pass(500);
    expect(listening()).toBe(0);
    await world.close();
  });

  it('shuts down every member at a signal', async () => {
    const world = new World();
    const members = Array.from({ length: 11 }, (_, i) => world.member(`m${i}`));
    for (const member of members) member.shutdownOn(FIRST);
    process.emit(FIRST, FIRST);
    expect(new Set(members.map((member) => member.state))).toEqual(new Set(['closed']));
    await world.pass(500);
    expect(listening()).toBe(0);
    await world.close();
  });

  it('listens again after the program has removed all listeners of the process', async () => {
    const world = new World();
    const [a, b] = [world.member('a'), world.member('b')];
    a.shutdownOn(FIRST);
    process.removeAllListeners(FIRST);
    b.shutdownOn(FIRST);
    expect(listening()).toBe(1);
    await world.close();
    expect(listening()).toBe(0);
  });

  it('listens no longer once the member is closed', async () => {
    const world = new World();
    const member = await leading(world);
    expect(listening()).toBe(2);
    await world.run(member.close());
    expect(listening()).toBe(0);
    member.shutdownOn(FIRST);
    expect(listening()).toBe(0);
    await world.close();
  });

  it.each([[], ['SIGKILL'], ['SIGTERM', 'sigint'], [undefined], [15]])('refuses %j %j', (...signals) => {
    const member = new World().member('a');
    expect(() => Reflect.apply(member.shutdownOn, member, signals)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(listening()).toBe(0);
  });

  it('shows a signal that it does not know', () => {
    const member = new World().member('a');
    const message = /^signals is "SIGTRM": it must be one or more of SIGTERM, /;
    expect(() => Reflect.apply(member.shutdownOn, member, ['SIGTERM', 'SIGTRM'])).toThrow(message);
    expect(() => Reflect.apply(member.shutdownOn, member, [['SIGTERM']])).toThrow(
      /^signals is an array of 1: .*, each an argument of its own$/,
    );
  });
});

describe('in a process that is PID 1', () => {
  const NUMBER = constants.signals[FIRST];
  const STATUS = 128 + NUMBER;
  const own = Object.getOwnPropertyDescriptor(process, 'pid') ?? {};
  const exit = vi.fn<typeof process.exit>();

  beforeEach(() => {
    Object.defineProperty(process, 'pid', { ...own, value: 1 });
    vi.spyOn(process, 'exit').mockImplementation(exit);
  });
  afterEach(() => {
    Object.defineProperty(process, 'pid', own);
    vi.restoreAllMocks();
    exit.mockReset();
    for (const signal of [FIRST, SECOND]) process.removeAllListeners(signal);
  });

  /** Calls the listeners as Node does. */
  function receive(): void {
    Reflect.apply(process.emit, process, [FIRST, FIRST, NUMBER]);
  }

  it('shutdownOn ends the process at a signal after the first request', async () => {
    const world = new World();
    const member = await leading(world);
    const work = Promise.withResolvers<void>();
    member.election(NAME).leadership?.waitUntil(work.promise);
    receive();
    await world.pass(499);
    receive();
    expect(exit).not.toHaveBeenCalled();
    await world.pass(1);
    receive();
    expect(exit.mock.calls).toEqual([[STATUS]]);
    work.resolve();
    await world.close();
  });

  it('shutdownOn lets a signal end the process after a close that the program began, not before', async () => {
    const world = new World();
    const members = [world.member('a'), world.member('b')];
    for (const member of members) member.shutdownOn(FIRST);
    await world.run(members[0]?.close() ?? Promise.resolve());
    receive();
    expect([exit.mock.calls, members[1]?.state]).toEqual([[], 'closed']);
    await world.pass(500);
    await world.close();
    expect(listening()).toBe(1);
    receive();
    expect(exit.mock.calls).toEqual([[STATUS]]);
  });

  it.each(['on', 'once', 'prependListener'] as const)(
    'a listener that the program adds by %s takes the place of the default action',
    (add) => {
      const listener = vi.fn<() => void>();
      process[add](FIRST, listener);
      endByDefault([FIRST]);
      receive();
      expect([listener.mock.calls.length, exit.mock.calls]).toEqual([1, []]);
      process.off(FIRST, listener);
      receive();
      expect(exit.mock.calls).toEqual([[STATUS]]);
    },
  );

  it('adds one listener however often it is asked', () => {
    endByDefault([FIRST, SECOND]);
    endByDefault([FIRST]);
    expect(listening()).toBe(2);
  });
});

it('endByDefault adds no listener in a process that is not PID 1', () => {
  endByDefault([FIRST, SECOND]);
  expect(listening()).toBe(0);
});
