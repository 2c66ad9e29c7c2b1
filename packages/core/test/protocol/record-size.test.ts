/** A value that is too long for a record is refused before its candidate joins the queue. */

import { describe, expect, it } from 'vitest';
import { ElectionAdmin, type ElectionOptions, type Entry } from '../../src/index.ts';
import { checkRecordSize } from '../../src/protocol/record-size.ts';
import { writeCandidate, writeLeader, writeRequest } from '../../src/protocol/record.ts';
import { writeHandoverTerm } from '../../src/protocol/mark.ts';
import { bytes, led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, World, type WorldOptions } from '../support/world.ts';

const LIMIT = 4_096;
/**
 * A member id, and an election's name, as long as they may be: the leader's record has both twice.
 */
const LONG = 'm'.repeat(128);

const codec = { encode: (value: string): Uint8Array => bytes(value), decode: (read: Uint8Array): string => new TextDecoder().decode(read) };

const kinds: readonly (readonly [string, string, ElectionOptions<string>])[] = [
  ['JSON', 'x', {}],
  ['JSON of characters of three bytes', '€', {}],
  ['JSON of characters that are escaped', '"', {}],
  ['bytes', 'x', { codec }],
];

/** Whether a campaign with the value gets as far as the queue, in a world of its own. */
async function joins(value: string, options: ElectionOptions<string>, name = NAME, memberId = 'b'): Promise<boolean> {
  const { world } = await led({ maxValueBytes: LIMIT });
  const campaign = track(
    world
      .member(memberId)
      .election(name, { ...options, value })
      .campaign(),
  );
  await world.pass(20);
  const isQueued = world.queue(name).includes(memberId);
  await world.close();
  return isQueued && campaign.state !== 'rejected';
}

/** The longest value of these characters that is not refused. */
async function longest(of: string, options: ElectionOptions<string>, name = NAME, memberId = 'b'): Promise<string> {
  let [fits, exceeds] = [0, LIMIT];
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2);
    if (await joins(of.repeat(middle), options, name, memberId)) fits = middle;
    else exceeds = middle;
  }
  return of.repeat(fits);
}

const stores: readonly (readonly [string, WorldOptions])[] = [
  ['in one swap', {}],
  ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
];

describe('a value that fits the entry in the queue but not the record of a leader', () => {
  // The entry of this value has 4,058 bytes; the record of its leader has more than 4,096.
  const value = 'x'.repeat(4_040);

  it.each(['campaign', 'lead'] as const)('is refused by %s behind a leader, before anything is asked of the store', async (how) => {
    const { world } = await led({ maxValueBytes: LIMIT });
    const election = world.member('b').election(NAME, { value });
    const before = { ...world.server.requests };
    const campaign = how === 'campaign' ? election.campaign() : election.lead(() => {});
    await expect(campaign).rejects.toMatchObject({ code: 'INVALID_OPTION', details: { option: 'value' } });
    await expect(election.campaign()).rejects.toThrow(
      'value is 4051 bytes of a leader\'s record of up to 4626 bytes: it must be at most 3521 bytes of it, as the store "memory" takes values of 4096 bytes',
    );
    expect([{ ...world.server.requests }, world.queue()]).toEqual([before, ['a']]);
  });

  it('is not shown in the error, because it may be a secret', async () => {
    const { world } = await led({ maxValueBytes: LIMIT });
    const campaign = world.member('b').election(NAME, { value }).campaign();
    const error = await campaign.catch((reason: unknown) => reason);
    expect(JSON.stringify([String(error), error])).not.toContain('xxx');
  });

  it('is refused in the next campaign where it has grown since the one before', async () => {
    const world = new World({ maxValueBytes: LIMIT });
    const grows = { text: 'short' };
    const election = world.member('a').election(NAME, { value: grows });
    const leadership = await world.run(election.campaign());
    await world.run(leadership.resign());
    grows.text = value;
    await expect(world.run(election.campaign())).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    grows.text = 'short again';
    expect((await world.run(election.campaign())).isValid()).toBe(true);
  });
});

describe.each(stores)('where a handover is %s, the longest value that a campaign takes', (_, options) => {
  it.each(kinds)('fits each record that it comes into: %s', async (_kind, of, kind) => {
    const value = await longest(of, kind);
    const world = new World({ ...options, maxValueBytes: LIMIT });
    const first = await world.run(
      world
        .member('a')
        .election(NAME, { ...kind, value })
        .campaign(),
    );
    const [b, c] = ['b', LONG].map((id) =>
      track(
        world
          .member(id)
          .election(NAME, { ...kind, minTerm: 2n ** 61n, ...(id === 'b' ? { value } : {}) })
          .campaign(),
      ),
    );
    await world.pass(20);
    await world.run(first.handover('b'));
    await world.pass(20);
    expect([b?.value?.isValid(), c?.state]).toEqual([true, 'pending']);
    expect(await world.run(new ElectionAdmin(world.connect(), NAME, kind).requestHandover(2n ** 61n, LONG))).toBe(true);
    await world.pass(2_000);
    expect([b?.value?.isValid(), c?.value?.isValid()]).toEqual([false, true]);
    await world.close();
    world.expectNothingLeft();
  });
});

it('the longest names leave room for a value of three thousand bytes in the smallest limit that a store may have', async () => {
  const value = await longest('x', {}, LONG, LONG);
  expect(value.length).toBeGreaterThan(3_000);
  const world = new World({ maxValueBytes: LIMIT });
  const leadership = await world.run(world.member(LONG).election(LONG, { value }).campaign());
  expect(leadership.isValid()).toBe(true);
  expect(new TextEncoder().encode(JSON.stringify(world.json(LEADER.replace(NAME, LONG)))).length).toBeGreaterThan(LIMIT - 500);
});

it.each([
  ['short', 'b', 'i'],
  ['long', LONG, 'i'.repeat(20)],
])(
  'names that are %s: the longest value that is not refused fits the entry that a handover names, and the record',
  (_, memberId, incarnation) => {
    const store = new World({ maxValueBytes: LIMIT }).connect();
    const term = 2n ** 63n - 1n;
    const [self, key] = [{ memberId, incarnation }, `elections/e/candidates/${memberId}~${incarnation}~1~fifo~`];
    const entry = (value: Uint8Array): Entry => ({ key, name: key, value, revision: 'r', order: 0n });
    let length = 0;
    const payload = (): { readonly json: string } => ({ json: 'x'.repeat(length) });
    expect(() => {
      for (; length < LIMIT; length += 1) checkRecordSize(store, self, key, payload());
    }).toThrow(RangeError);
    length -= 1;
    const named = writeHandoverTerm(entry(writeCandidate(payload(), term, term)), term);
    expect(writeRequest(entry(named), LONG).length).toBeLessThanOrEqual(LIMIT);
    expect(writeLeader({ term, ...self, entry: key, payload: payload(), publication: Number.MAX_SAFE_INTEGER }).length).toBeLessThanOrEqual(
      LIMIT,
    );
  },
);
