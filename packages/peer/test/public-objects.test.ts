/** The public objects in JSON, and their methods without them. */

import { isIncumbentError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { bully, MemoryNetwork, MemoryStorage, PeerMember, TcpTransport, type PeerLeadership } from '../src/index.ts';
import { Group } from './support.ts';

function parsed(value: unknown): unknown {
  const json: unknown = JSON.parse(JSON.stringify(value));
  return json;
}

async function led(group: Group): Promise<PeerLeadership<'quorum'>> {
  const [a, ...others] = group.ids.map((id) => group.member(id));
  await Promise.all(others.map((other) => other.start()));
  return group.clock.run(a!.campaign());
}

describe('JSON.stringify writes a term as a decimal string in', () => {
  it('leaderships, their ends and their errors', async () => {
    await using group = new Group();
    const leadership = await led(group);
    expect(leadership.term).toBeTypeOf('bigint');
    const term = String(leadership.term);
    expect(parsed({ leadership })).toEqual({ leadership: { term, memberId: 'a', state: 'valid' } });
    leadership.reportTerm(leadership.term + 5n);
    const end = await leadership.ended;
    expect(parsed(end)).toMatchObject({ term, seenTerm: String(leadership.term + 5n), reason: 'termBehind', lost: true });
    const reason: unknown = leadership.signal.reason;
    expect(isIncumbentError(reason, 'LEADERSHIP_ENDED') && parsed(reason)).toMatchObject({ details: { term, reason: 'termBehind' } });
  });

  it('views, of every member', async () => {
    await using group = new Group();
    const seen: unknown[] = [];
    const leadership = await led(group);
    for (const member of group.members) member.subscribe((view) => seen.push(parsed(view)));
    await group.clock.advance(1_000);
    const view = { state: 'leader', memberId: 'a', term: String(leadership.term) };
    expect(group.members.map((member) => parsed(member.current))).toEqual([view, view, view]);
    expect(seen).toEqual(expect.arrayContaining([view]));
  });
});

it('a leadership without a term has its round in JSON', async () => {
  await using group = new Group(['a']);
  const { clock, network } = group;
  await using member = new PeerMember({ algorithm: bully({ members: ['a'] }), transport: network, memberId: 'a', clock });
  const leadership = await clock.run(member.campaign());
  expect(parsed(leadership)).toEqual({ round: leadership.round, memberId: 'a', state: 'valid' });
  await clock.run(member.close());
});

/** All methods of an object's class that are named by text. */
function methodsOf(object: object): readonly (readonly [string, () => unknown])[] {
  const prototype: object = Object.getPrototypeOf(object);
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    name === 'constructor' || typeof value !== 'function' ? [] : [[name, () => Reflect.apply(value, undefined, [])] as const],
  );
}

it('a method that was taken out of its object explains itself, in every public class', async () => {
  await using group = new Group();
  const leadership = await led(group);
  const transport = new TcpTransport({ memberId: 'a', members: { a: '127.0.0.1:1' }, secret: 'a secret of at least 16 bytes' });
  const objects = { member: group.members[0]!, leadership, network: new MemoryNetwork(), storage: new MemoryStorage(), transport };
  for (const [object, instance] of Object.entries(objects)) {
    const methods = methodsOf(instance);
    expect(methods.length).toBeGreaterThan(0);
    for (const [name, call] of methods)
      expect(call, `${object}.${name}`).toThrow(`${name} was called without its object: call ${object}.${name}(…)`);
  }
});
