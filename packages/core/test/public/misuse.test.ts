/** What callers without TypeScript may pass by mistake. */

import { describe, expect, it } from 'vitest';
import { ElectionObserver, type Leadership, Member, sleep, StoredValueObserver, systemClock } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { NAME, World } from '../support/world.ts';

type Method = 'swap' | 'publish' | 'handover' | 'waitUntil' | 'delayRelease';

/** Calls a method, whose arguments TypeScript would refuse. */
async function call(leadership: Leadership, method: Method, args: readonly unknown[]): Promise<unknown> {
  return Reflect.apply(leadership[method], leadership, args);
}

const change = { key: 'mine', expect: null };

describe('a leadership refuses, and names,', () => {
  it.each<[string, Method, unknown[], string]>([
    ['changes that are missing', 'swap', [], 'changes is undefined: it must be an array of changes'],
    ['a change outside an array', 'swap', [change], 'changes is an object: it must be an array of changes'],
    ['a change that is null', 'swap', [[null]], 'change options is null: it must be an object'],
    ['options that are null', 'swap', [[change], null], 'call options is null: it must be an object'],
    ['a timeout', 'swap', [[change], { timeoutMs: 5 }], 'there is no call option "timeoutMs": the options are signal'],
    ['a bare signal', 'publish', ['x', AbortSignal.abort()], 'it must be an object with the signal in it: { signal }'],
    ['a controller for its signal', 'publish', ['x', { signal: new AbortController() }], 'signal is an object: it must be an AbortSignal'],
    ['options that are no object', 'handover', ['b', 5], 'call options is a number: it must be an object'],
    ['a member id in an object', 'handover', [{ memberId: 'b' }], 'memberId is an object: it must be 1 to 128 characters'],
    ['a function for a promise', 'waitUntil', [async () => {}], 'work is a function: it must be a promise'],
    ['a `then` that is no function', 'waitUntil', [{ then: 1 }], 'work is an object: it must be a promise'],
    ['a missing promise', 'delayRelease', [], 'work is undefined: it must be a promise'],
  ])('%s', async (_, method, args, message) => {
    const { world, leadership } = await led();
    await expect(world.run(call(leadership, method, args))).rejects.toThrow(message);
    expect(leadership.isValid()).toBe(true);
    await world.close();
  });
});

it.each([{ parse: null }, { codec: null }])('an election refuses, and names, an option that is null: %j', (options) => {
  const member = new World().member('a');
  const [name] = Object.keys(options);
  expect(() => Reflect.apply(member.election, member, [NAME, options])).toThrow(`${name} is null: it must be`);
});

describe('a constructor refuses, and names,', () => {
  const store = new World().connect();
  const constructors: [string, (options: object) => unknown][] = [
    ['Member', (options) => Reflect.construct(Member, [store, options])],
    ['ElectionObserver', (options) => Reflect.construct(ElectionObserver, [store, NAME, options])],
    ['StoredValueObserver', (options) => Reflect.construct(StoredValueObserver, [store, 'mine', options])],
  ];

  it.each(constructors)('a clock, a source of random numbers or a logger without its functions: %s', (_, construct) => {
    const partial = { ...systemClock, wall: () => 0, monotonic: () => 0, schedule: () => () => {} };
    for (const clock of [{}, null, Date, partial])
      expect(() => construct({ clock })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option: 'clock' }) }),
      );
    for (const random of [{}, null, Math.random, { u32: 1 }])
      expect(() => construct({ random })).toThrow(/^random is .*: it must be a Random, with the function u32$/);
    const logger = { debug: 1, info: 1, warn: 1, error: 1 };
    expect(() => construct({ logger })).toThrow('logger is an object: it must be an object with the functions debug, info, warn and error');
  });

  it.each(constructors)('a promise of its options: %s', (name, construct) => {
    const options = name === 'Member' ? 'member options' : 'observer options';
    expect(() => construct(Promise.resolve({}))).toThrow(`${options} is a promise: it must be an object (await the promise)`);
  });

  it('a member id that is null: Member', () => {
    expect(() => Reflect.construct(Member, [store, { memberId: null }])).toThrow('memberId is null: it must be 1 to 128 characters');
  });
});

it.each<[string, unknown[], string]>([
  ['a time that is no number', [systemClock, '1000'], 'delayMs is a string of 4 characters: it must be a number'],
  ['a time that is NaN', [systemClock, Number.NaN], 'delayMs is NaN: it must be a number'],
  ['options for the signal', [systemClock, 1, { signal: AbortSignal.abort() }], 'signal is an object: it must be an AbortSignal'],
])('sleep refuses, and names, %s', async (_, args, message) => {
  const slept: Promise<unknown> = Reflect.apply(sleep, undefined, args);
  await expect(slept).rejects.toThrow(message);
});
