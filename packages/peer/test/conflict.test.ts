/** A member reports wrongly configured members as errors, and forged terms end no leadership. */

import { describe, expect, it } from 'vitest';
import { quorum, type QuorumMessage, type Transport } from '../src/index.ts';
import { isPlausible, MAX_TERM } from '../src/quorum/message.ts';
import type { LinkOptions } from '../src/transport.ts';
import { Group, logger } from './support.ts';

const MESSAGE = 'members contradict each other: is one of them cloned, or its vote restored, or two set up with one id?';

type Log = ReturnType<typeof logger>;

function reported(log: Log): readonly object[] {
  return log.lines.flatMap(({ message, fields }) => (message === MESSAGE ? [fields] : []));
}

/**
 * A group of three that has a leader and whose logs are recorded, and a helper that sends any
 * message in a member's name.
 */
class Scene {
  readonly group = new Group();
  readonly logs = new Map<string, Log>();
  readonly #receivers = new Map<string, LinkOptions['receive']>();

  async led(): Promise<{ readonly leader: string; readonly follower: string; readonly third: string; readonly term: bigint }> {
    const members = this.group.ids.map((id) => {
      const log = logger();
      this.logs.set(id, log);
      const transport: Transport = {
        open: async (options) => {
          this.#receivers.set(id, options.receive);
          return this.group.network.open(options);
        },
      };
      return this.group.member(id, { logger: log, transport });
    });
    const campaigns = members.map((member) => member.campaign());
    for (const campaign of campaigns) campaign.catch(() => {});
    const { memberId: leader, term } = await this.group.clock.run(Promise.race(campaigns));
    await this.group.clock.advance(500);
    const [follower = '', third = ''] = this.group.ids.filter((id) => id !== leader);
    return { leader, follower, third, term };
  }

  /** Sends without replacing that member in the network. */
  async says(from: string, to: string, message: QuorumMessage, times = 1): Promise<void> {
    const frame = { configuration: quorum({ members: this.group.ids }).configuration, message };
    const receive = this.#receivers.get(to);
    for (let time = 0; time < times; time += 1) receive?.(from, frame);
    await this.group.clock.advance(10);
  }

  log(memberId: string): readonly object[] {
    const log = this.logs.get(memberId);
    return log === undefined ? [] : reported(log);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.group[Symbol.asyncDispose]();
  }
}

describe('two leaders of one term', () => {
  it('are reported by a leader that receives a message of the other', async () => {
    await using scene = new Scene();
    const { leader, follower, term } = await scene.led();
    await scene.says(follower, leader, { type: 'heartbeat', term, round: 1 });
    expect(scene.log(leader)).toEqual([expect.objectContaining({ code: 'TWO_LEADERS', from: follower, leader, term: String(term) })]);
  });

  it.each(['resigned', 'handover'] as const)(
    'are reported by a leader that receives the message "%s" of the other, and its leadership goes on',
    async (type) => {
      await using scene = new Scene();
      const { leader, follower, term } = await scene.led();
      const { group } = scene;
      const leadership = group.members.find(({ memberId }) => memberId === leader)?.leadership;
      await scene.says(follower, leader, { type, term });
      expect(scene.log(leader)).toEqual([expect.objectContaining({ code: 'TWO_LEADERS', from: follower, leader, term: String(term) })]);
      await group.clock.advance(10_000);
      expect(leadership?.isValid()).toBe(true);
      await group.clock.run(leadership!.resign());
      expect(await leadership!.ended).toMatchObject({ term, reason: 'resigned' });
    },
  );

  it.each(['resigned', 'handover'] as const)('are reported by a follower that receives the message "%s" of the second', async (type) => {
    await using scene = new Scene();
    const { leader, follower, third, term } = await scene.led();
    await scene.says(third, follower, { type, term });
    expect(scene.log(follower)[0]).toMatchObject({ code: 'TWO_LEADERS', from: third, leader, term: String(term) });
  });

  it('are reported by a follower that receives messages of both', async () => {
    await using scene = new Scene();
    const { leader, follower, third, term } = await scene.led();
    await scene.says(third, follower, { type: 'heartbeat', term, round: 1 });
    expect(scene.log(follower)[0]).toMatchObject({ code: 'TWO_LEADERS', from: third, leader, term: String(term) });
  });

  it('are reported by a member that led that term before', async () => {
    await using scene = new Scene();
    const { leader, follower, term } = await scene.led();
    scene.group.network.isolate(leader);
    const member = scene.group.members.find(({ memberId }) => memberId === leader);
    await scene.group.clock.advance(2_000);
    expect(member?.leadership).toBeUndefined();
    await scene.says(follower, leader, { type: 'heartbeat', term, round: 1 });
    expect(scene.log(leader)).toMatchObject([{ code: 'TWO_LEADERS', from: follower, leader }]);
  });

  it('are reported once, and then only for one message in many', async () => {
    await using scene = new Scene();
    const { leader, follower, term } = await scene.led();
    await scene.says(follower, leader, { type: 'heartbeat', term, round: 1 }, 500);
    expect(scene.log(leader)).toHaveLength(1);
  });

  it('are never reported during failovers, handovers and restarts', async () => {
    await using scene = new Scene();
    const { leader } = await scene.led();
    const { group } = scene;
    group.network.isolate(leader);
    await group.clock.advance(20_000);
    group.network.heal();
    await group.clock.advance(20_000);
    for (const member of group.members) if (member.leadership !== undefined) await group.clock.run(member.leadership.handover());
    await group.clock.advance(20_000);
    expect(group.ids.flatMap((id) => scene.log(id))).toEqual([]);
  });
});

it("a message under the receiver's own id is reported and refused", async () => {
  await using scene = new Scene();
  const { leader, term } = await scene.led();
  await scene.says(leader, leader, { type: 'heartbeat', term, round: 1 });
  expect(scene.log(leader)).toEqual([expect.objectContaining({ code: 'OWN_ID', from: leader })]);
  expect(scene.group.members.find(({ memberId }) => memberId === leader)?.refused.unknownMember).toBe(1);
});

describe('a false term', () => {
  it('is accepted up to the highest reportable term plus some elections, or as far above the newest known term', () => {
    expect([2n ** 61n, 2n ** 61n + 2n ** 32n].map((term) => isPlausible(term, 0n))).toEqual([true, true]);
    expect([2n ** 61n + 2n ** 32n + 1n, 2n ** 62n, MAX_TERM].map((term) => isPlausible(term, 7n))).toEqual([false, false, false]);
    expect(isPlausible(2n ** 62n + 2n ** 32n, 2n ** 62n)).toBe(true);
    expect(isPlausible(2n ** 62n + 2n ** 32n + 1n, 2n ** 62n)).toBe(false);
  });

  it.each(['stale', 'heartbeat', 'resigned', 'handover'] as const)(
    'of 2^63 - 1 in a message "%s" is reported, and elections go on',
    async (type) => {
      await using scene = new Scene();
      const { leader, follower, third } = await scene.led();
      const term = MAX_TERM;
      const message: QuorumMessage = type === 'heartbeat' ? { type, term, round: 1 } : { type, term };
      await scene.says(third, leader, message);
      await scene.says(third, follower, message);
      for (const id of [leader, follower])
        expect(scene.log(id)).toMatchObject([{ code: 'TERM_TOO_HIGH', from: third, term: String(MAX_TERM) }]);
      const { group } = scene;
      const member = (id: string) => group.members.find(({ memberId }) => memberId === id);
      expect(member(leader)?.leadership?.isValid()).toBe(true);
      group.network.isolate(leader);
      await group.clock.advance(20_000);
      expect([follower, third].filter((id) => member(id)?.leadership?.isValid() === true)).toHaveLength(1);
    },
  );

  it('that is the highest acceptable one leaves room for elections', async () => {
    await using scene = new Scene();
    const { leader, follower, third } = await scene.led();
    const term = 2n ** 61n + 2n ** 32n;
    await scene.says(third, leader, { type: 'stale', term });
    await scene.group.clock.advance(60_000);
    const led = scene.group.members.flatMap(({ leadership }) => (leadership?.isValid() === true ? [leadership] : []));
    expect(led).toHaveLength(1);
    expect(led[0]?.term).toBeGreaterThan(term);
    expect([leader, follower, third].flatMap((id) => scene.log(id))).toEqual([]);
  });

  it('with the highest number, read from a vote file, makes the member neither campaign nor send unreadable messages', async () => {
    await using group = new Group(['x']);
    const member = group.member('x');
    await group.storages.get('x')?.save({ memberId: 'x', term: MAX_TERM, votedFor: undefined });
    member.campaign().catch(() => {});
    await group.clock.advance(60_000);
    expect([member.leadership, member.highestTerm]).toEqual([undefined, MAX_TERM]);
  });
});
