/** Elections over real sockets. */

import { LOOPBACK, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { isRecord } from '../../src/reading.ts';
import { noRefusals } from '../../src/tcp/refusal.ts';
import { WAIT_MS, refusals, TcpGroup } from './group.ts';

describe('members over TCP', () => {
  it('elect a leader, and another one when its process has died', async () => {
    await using group = await TcpGroup.elected(['a', 'b', 'c']);
    const first = await group.leader();
    expect(first.isValid()).toBe(true);
    const { transport } = group.of(first.memberId);
    // From now on the process sends nothing, as after a crash: not even that its leadership has
    // ended.
    await transport.close();
    group.members.delete(first.memberId);
    const next = (): boolean => [...group.members.values()].some(({ leadership }) => leadership?.isValid());
    await until(next, { what: 'the next leader', withinMs: WAIT_MS });
    const second = [...group.members.values()].find(({ leadership }) => leadership !== undefined)!.leadership!;
    expect(second.term).toBeGreaterThan(first.term);
    expect(await first.ended).toMatchObject({ reason: 'deadline', lost: true });
  });

  it('learn of a resignation even if the process exits right after it', async () => {
    const informed = new Set<string>();
    const onMessage = (receiver: string, message: unknown): void => {
      if (isRecord(message) && message['type'] === 'resigned') informed.add(receiver);
    };
    await using group = await TcpGroup.elected(['a', 'b', 'c'], { onMessage });
    const first = await group.leader();
    const { member, transport } = group.of(first.memberId);
    group.members.delete(first.memberId);
    await member.close();
    await transport.close();
    const others = [...group.members.keys()];
    await until(() => others.every((id) => informed.has(id)), { what: 'the resignation at both others', withinMs: WAIT_MS });
    const next = (): boolean => [...group.members.values()].some(({ leadership }) => leadership?.isValid());
    await until(next, { what: 'the next leader', withinMs: WAIT_MS });
  });

  it('share one port and one connection per pair between independent elections', async () => {
    await using group = await TcpGroup.make(['a', 'b', 'c']);
    const transports = group.ids.map((id) => group.transport(id));
    const names = ['one', 'two', 'three'];
    const leaderships = await Promise.all(
      names.map(async (name) => {
        const members = transports.map((transport) => group.member(transport, name));
        const campaigns = members.map((member) => member.campaign());
        for (const campaign of campaigns) campaign.catch(() => {});
        return Promise.race(campaigns);
      }),
    );
    expect(leaderships.every((leadership) => leadership.isValid())).toBe(true);
    expect(transports.map(({ connected }) => connected.length)).toEqual([2, 2, 2]);
    await leaderships[0]!.resign();
    expect(leaderships.slice(1).every((leadership) => leadership.isValid())).toBe(true);
    // A member that started first has sent messages to members that had not started.
    for (const { refused } of transports) expect({ ...refused, unknownElection: 0 }).toEqual(noRefusals);
  });

  it('count messages of an election that is not open, and keep the others running', async () => {
    await using group = await TcpGroup.elected(['a', 'b', 'c']);
    const leader = await group.leader();
    const lonely = group.member(group.of('a').transport, 'unheard');
    lonely.campaign().catch(() => {});
    await refusals(group.of('b').transport, 'unknownElection');
    expect(leader.isValid()).toBe(true);
  });

  it('reconnect after a partition, and after a restart of the listening member', async () => {
    await using group = await TcpGroup.make(['a', 'b', 'c']);
    const proxy = await group.proxy('c');
    for (const id of group.ids) group.start(id);
    await group.leader();
    proxy.reset();
    await group.leader();
    expect(group.of('c').transport.connected).toEqual(['a', 'b']);
    const { member, transport } = group.of('c');
    await member.close();
    await transport.close();
    group.start('c');
    await group.leader();
  });

  it('neither keep the process alive nor the port in use after they are closed', async () => {
    await using group = await TcpGroup.elected(['a', 'b']);
    const { member, transport } = group.of('b');
    const beganMs = performance.now();
    await Promise.all([member.close(), transport.close(), transport.close()]);
    expect(performance.now() - beganMs).toBeLessThan(WAIT_MS / 4);
    const again = group.start('b');
    await until(() => again.transport.connected.length === 1, { what: 'connected again', withinMs: WAIT_MS });
    await expect(transport.election('other').open({ memberId: 'b', members: ['a'], receive: () => {} })).rejects.toThrow('was closed');
  });
});

describe('a transport', () => {
  const nobody = (): void => {};

  it('opens each election once, for its own member id and for listed members', async () => {
    await using group = await TcpGroup.make(['a', 'b']);
    const transport = group.transport('a');
    const options = { memberId: 'a', members: ['a', 'b'], receive: nobody };
    const one = transport.election('one');
    await expect(one.open({ ...options, memberId: 'b' })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('memberId'),
    });
    await expect(one.open({ ...options, members: ['a', 'z'] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('"z"'),
    });
    const link = await one.open(options);
    await expect(one.open(options)).rejects.toThrow('already open');
    await link.close();
    await (await one.open(options)).close();
    expect(() => transport.election('no such name')).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
  });

  it("rejects with the system's error if the port is in use", async () => {
    await using group = await TcpGroup.make(['a', 'b']);
    const first = group.transport('a');
    const options = { memberId: 'a', members: group.ids, receive: nobody };
    await first.election('one').open(options);
    const second = group.transport('a', { listen: `${LOOPBACK}:${group.ports.get('a')}` });
    await expect(second.election('one').open(options)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first.close();
  });
});
