/** What callers without TypeScript may pass by mistake to a leadership. */

import { describe, expect, it } from 'vitest';
import type { Leadership } from '../../src/index.ts';
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
