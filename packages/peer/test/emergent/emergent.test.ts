/** The emergent algorithm on a manual clock. */

import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/emergent/list.ts';
import { readMessage, type EmergentMessage } from '../../src/emergent/message.ts';
import { neighbours, isMissed } from '../../src/emergent/watch.ts';
import { emergent, PeerMember, MemoryNetwork, quorum, type PeerMembership } from '../../src/index.ts';
import { resolveRules } from '../../src/emergent/options.ts';
import { Cluster, together } from './cluster.ts';
import { One } from './one.ts';

describe('one member', () => {
  it('that coordinates publishes a newer list if another member has created the same version', () => {
    const a = new One('a', ['a']);
    a.step(1_000, { type: 'tick' });
    const [update] = a.receive(1_001, 'b', { type: 'join', incarnation: 7, address: 'at b', standing: false });
    const { version, maker } = update?.type === 'update' ? update.list : { version: 0, maker: '' };
    const beat = { type: 'heartbeat', incarnation: 7, version, coordinator: maker, standing: false } as const;
    expect(a.receive(1_100, 'b', { ...beat, maker })).toEqual([]);
    // As e had passed its place on to a, which had taken it.
    expect(a.receive(1_200, 'b', { ...beat, maker: 'e 9' })).toMatchObject([{ type: 'update', list: { version: version + 1, maker } }]);
  });

  it('becomes coordinator if its coordinator names it in a list of the same version', () => {
    const c = new One('c', ['a']);
    const entry = (memberId: string, age: number, incarnation = 1): Entry => ({ memberId, incarnation, age, address: '', standing: true });
    const list = { version: 9, round: 1, lost: [], minorityOf: [] };
    const [a, own] = [entry('a', 1), entry('c', 2, c.incarnation)];
    c.receive(10, 'a', { type: 'update', list: { ...list, maker: 'b 1', members: [a, own] } });
    const other = { ...list, members: [own, { ...a, age: 3 }] };
    c.receive(20, 'a', { type: 'update', list: { ...other, maker: 'a 1' } });
    expect(c.membership).toMatchObject({ version: 9, coordinator: 'a' });
    const said = c.receive(30, 'a', { type: 'update', list: { ...other, maker: 'd 1' } });
    expect(c.membership).toMatchObject({ version: 10, coordinator: 'c' });
    expect(said).toMatchObject([{ type: 'update', list: { version: 10, members: [{ memberId: 'c' }, { memberId: 'a' }] } }]);
  });

  it('is not redirected without end between two members that take each other for their coordinator', () => {
    const a = new One('a', ['a']);
    a.step(1_000, { type: 'tick' });
    for (let i = 0; i < 10; i += 1) {
      expect(
        a.step(1_001, { type: 'message', from: 'b', message: { type: 'seek', coordinator: { memberId: 'c', address: 'at c' } } }),
      ).toEqual([]);
      expect(
        a.step(1_001, { type: 'message', from: 'c', message: { type: 'seek', coordinator: { memberId: 'b', address: 'at b' } } }),
      ).toEqual([]);
    }
    const asked: string[] = [];
    for (let atMs = 1_100; atMs <= 2_500; atMs += 100)
      asked.push(...a.step(atMs, { type: 'tick' }).map(({ to, message }) => `${message.type} ${to}`));
    expect(asked).toEqual(['probe c', 'probe b']);
  });

  it('that suspects its coordinator can claim the role although another member follows another coordinator', () => {
    const c = new One('c', ['a']);
    const entry = (memberId: string, age: number, incarnation = 1): Entry => ({ memberId, incarnation, age, address: '', standing: true });
    const members = [entry('a', 1), entry('b', 2), entry('c', 3, c.incarnation)];
    c.receive(10, 'a', { type: 'update', list: { version: 9, maker: 'a 1', round: 1, members, lost: [], minorityOf: [] } });
    expect(c.membership?.coordinator).toBe('a');
    const answer = { type: 'answer', incarnation: 1, version: 4, coordinator: 'z 1', misses: false, list: undefined } as const;
    for (let atMs = 100; atMs <= 3_000; atMs += 100)
      for (const { to, message } of c.step(atMs, { type: 'tick' }))
        if (to === 'b' && message.type === 'ask') c.receive(atMs + 1, 'b', { ...answer, claim: message.claim });
    expect(c.membership).toMatchObject({ coordinator: 'c', members: [{ memberId: 'c' }] });
  });

  it('that founds a cluster after it left a large one lists no more lost members than others can read', () => {
    const c = new One('c', ['a']);
    const entries = Array.from({ length: 200 }, (_, i) => ({ memberId: `m${i}`, incarnation: 1, age: i + 3, address: '', standing: true }));
    const lost = Array.from({ length: 200 }, (_, i) => ({ memberId: `lost ${i}`, address: '' }));
    const [first, own] = ['a', 'c'].map((memberId, i) => ({ ...entries[0]!, memberId, age: i + 1 }));
    const members = [first!, { ...own!, incarnation: c.incarnation }, ...entries];
    c.receive(10, 'a', { type: 'update', list: { version: 9, maker: 'a 1', round: 1, members, lost, minorityOf: [] } });
    c.receive(20, 'a', { type: 'removed', incarnation: c.incarnation });
    const probes = [];
    for (let atMs = 100; atMs <= 12_000; atMs += 100)
      probes.push(...c.step(atMs, { type: 'tick' }).filter(({ message }) => message.type === 'probe'));
    expect(probes.length).toBeGreaterThan(200);
    expect(readMessage(probes[0]!.message)).toEqual(probes[0]!.message);
  });
});

describe('a member', () => {
  it('shows the members by age, the version and the coordinator, and each change', async () => {
    await using cluster = await together(['a', 'b']);
    const seen: (PeerMembership | undefined)[] = [];
    const stop = new AbortController();
    const watching = (async (): Promise<void> => {
      for await (const membership of cluster.of('b').member.memberships({ signal: stop.signal })) seen.push(membership);
    })();
    cluster.start('c');
    await cluster.pass(400);
    stop.abort();
    await watching;
    const [a, b, c] = ['a', 'b', 'c'].map((memberId, i) => ({ memberId, address: '', age: i + 1, standing: true }));
    expect(seen).toEqual([
      { version: 2, coordinator: 'a', isEnough: true, members: [a, b] },
      { version: 3, coordinator: 'a', isEnough: true, members: [a, b, c] },
    ]);
    expect(cluster.membership('a')).toEqual(seen[1]);
  });

  it('that finds no cluster gives up after `joinAttempts`, with an error', async () => {
    await using cluster = new Cluster({ seeds: ['nobody'], joinAttempts: 5 });
    const { member } = cluster.start('a');
    await cluster.pass(5 * 250);
    expect(cluster.sent.get('join')).toBe(5);
    expect(cluster.of('a').error).toBe('JOIN_FAILED');
    await expect(member.campaign()).rejects.toMatchObject({ code: 'JOIN_FAILED' });
    expect(() => member.assertEnoughMembers()).toThrow(expect.objectContaining({ code: 'NOT_ENOUGH_MEMBERS' }));
  });

  it('finds the seeds by a function, and keeps asking them until they answer', async () => {
    await using cluster = new Cluster({ seeds: async () => ['z'] });
    cluster.start('a');
    await cluster.pass(2_000);
    expect(cluster.membership('a')).toBeUndefined();
    cluster.start('z');
    await cluster.pass(1_000);
    expect([cluster.list(), cluster.leaders]).toEqual(['z a', 'z']);
  });

  it('with the lowest id of several seeds that start together founds the cluster, and no other does', async () => {
    await using cluster = new Cluster({ seeds: ['c', 'a', 'b'] });
    for (const id of ['b', 'c', 'a']) cluster.start(id);
    await cluster.pass(1_500);
    expect(cluster.list().split(' ')[0]).toBe('a');
    expect(cluster.sent.get('merge')).toBeUndefined();
  });

  it('that does not campaign comes after all members that do, and never leads', async () => {
    await using cluster = new Cluster();
    cluster.start('a', { standing: false });
    await cluster.pass(400);
    expect([cluster.list(), cluster.leaders, cluster.membership('a')?.coordinator]).toEqual(['(a)', '', 'a']);
    cluster.start('b');
    await cluster.pass(400);
    expect([cluster.list(), cluster.leaders, cluster.membership('a')?.coordinator]).toEqual(['(a) b', 'b', 'b']);
    expect(cluster.of('a').member.current).toMatchObject({ state: 'leader', memberId: 'b' });
  });

  it('that resigns or hands over becomes the youngest, and rounds rise', async () => {
    await using cluster = await together(['a', 'b', 'c']);
    await cluster.clock.run(cluster.of('a').leadership!.handover('c'));
    await cluster.pass(500);
    expect([cluster.list(), cluster.leaders]).toEqual(['c b a', 'c']);
    const round = cluster.of('c').leadership!.round;
    expect(round).toBeGreaterThan(1);
    await expect(cluster.of('c').leadership!.handover('nobody')).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      message: 'cannot hand over to "nobody": it is not one of the members',
    });
    await cluster.clock.run(cluster.of('c').leadership!.resign());
    await cluster.pass(500);
    // Work that resigns is done: it does not stand again.
    expect([cluster.list(), cluster.leaders]).toEqual(['b a (c)', 'b']);
    expect(cluster.of('b').leadership!.round).toBeGreaterThan(round);
  });

  it('that leads is valid only as long after its last heartbeats as no other member may suspect it', async () => {
    await using cluster = await together(['a', 'b']);
    const leadership = cluster.of('a').leadership!;
    expect(leadership.remainingMs()).toBeLessThanOrEqual(500 * 0.98 - 50);
    expect(leadership.remainingMs()).toBeGreaterThan(500 * 0.98 - 50 - 101);
  });

  it('that restarts under its id joins as the youngest, even if nobody has noticed the crash', async () => {
    await using cluster = await together(['a', 'b', 'c']);
    cluster.crash('b');
    cluster.start('b');
    await cluster.pass(1_500);
    expect(cluster.list()).toBe('a c b');
  });

  it('refuses a transport with listed members, and such a transport refuses it', async () => {
    const transport = new MemoryNetwork();
    const listed = quorum({ members: ['a', 'b'] });
    expect(() => new PeerMember({ algorithm: listed, transport, memberId: 'z' })).toThrow('memberId');
    const open = new PeerMember({ algorithm: emergent({ cluster: 'x' }), transport, memberId: 'z' });
    expect(open.safety).toBe('bestEffort');
    await open.close();
  });
});

describe('heartbeats', () => {
  it.each([
    [6, 'all', 30],
    [6, 2, 12],
    [12, 2, 24],
    [12, 3, 36],
    [24, 3, 72],
    [24, 5, 120],
  ] as const)('of %i members to %s: %i messages per interval', async (count, heartbeatsTo, expected) => {
    const ids = Array.from({ length: count }, (_, i) => `m${String(i).padStart(2, '0')}`);
    await using cluster = new Cluster({ seeds: ['m00'], heartbeatsTo });
    for (const id of ids) cluster.start(id);
    await cluster.pass(3_000);
    expect(cluster.membership('m05')?.members).toHaveLength(count);
    const before = cluster.sent.get('heartbeat')!;
    await cluster.pass(1_000);
    expect(cluster.sent.get('heartbeat')! - before).toBe(10 * expected);
  });

  it('on a ring go to the next ids and come from the previous ones', () => {
    const rules = resolveRules({ cluster: 'x', heartbeatsTo: 2 });
    const members = ['c', 'a', 'e', 'b', 'd'].map((memberId, i) => ({ memberId, address: '', incarnation: 1, age: i + 1, standing: true }));
    const list = { version: 1, maker: 'a 1', round: 1, members, lost: [], minorityOf: [] };
    const of = (id: string, way: 1 | -1): string =>
      neighbours(rules, list, id, way)
        .map((i) => members[i]!.memberId)
        .join(' ');
    expect([of('a', 1), of('d', 1), of('e', 1)]).toEqual(['b c', 'e a', 'a b']);
    expect([of('a', -1), of('b', -1), of('d', -1)]).toEqual(['e d', 'a e', 'c b']);
  });

  it('lost on one link of a ring remove no member: the coordinator asks the member first', async () => {
    await using cluster = await together(['a', 'b', 'c', 'd', 'e'], { heartbeatsTo: 1 });
    cluster.isLost = (from, to) => from === 'c' && to === 'd';
    await cluster.pass(5_000);
    expect(cluster.sent.get('missed')).toBeGreaterThan(0);
    expect([cluster.list(), cluster.leaders]).toEqual(['a b c d e', 'a']);
  });
});

describe('phi', () => {
  const rules = resolveRules({ cluster: 'x', heartbeatEveryMs: 100, failureTimeoutMs: 500, detector: 'phi' });
  const silent = (ms: number, intervalsMs: readonly number[]): boolean =>
    isMissed(rules, { heardAtMs: 0, limitMs: 500, intervalsMs, accusedAtMs: undefined, standing: true }, ms);

  it('suspects no member within the failure timeout, and a regular one soon after', () => {
    const regular = Array.from({ length: 20 }, (_, i) => 100 + (i % 2));
    expect(silent(499, regular)).toBe(false);
    expect(silent(610, regular)).toBe(false);
    expect(silent(700, regular)).toBe(true);
  });

  it('gives members with irregular heartbeats more time', () => {
    const irregular = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 20 : 300));
    expect(silent(700, irregular)).toBe(false);
    expect(silent(2_000, irregular)).toBe(true);
  });

  it('applies only the failure timeout to members with few known intervals', () => {
    expect([silent(499, [100]), silent(501, [100])]).toEqual([false, true]);
  });

  it('removes a member that crashed', async () => {
    await using cluster = await together(['a', 'b', 'c'], { detector: 'phi' });
    cluster.crash('b');
    await cluster.pass(1_500);
    expect(cluster.list()).toBe('a c');
  });
});

describe('a coordinator that receives messages of leaving members', () => {
  const leaves = (incarnation: number): EmergentMessage => ({ type: 'leave', incarnation });

  it('ignores senders that are not members, however many there are', () => {
    const a = coordinator();
    for (let incarnation = 1; incarnation <= 300; incarnation += 1) a.receive(1_001, 'x', leaves(incarnation));
    expect(a.leaving).toEqual([]);
  });

  it('removes a member that leaves, but only under its current incarnation', () => {
    const a = coordinator();
    a.receive(1_001, 'b', { type: 'join', incarnation: 7, address: 'at b', standing: false });
    expect(a.membership?.members.map(({ memberId }) => memberId)).toEqual(['a', 'b']);
    a.receive(1_002, 'b', leaves(6));
    expect(a.membership?.members.map(({ memberId }) => memberId)).toEqual(['a', 'b']);
    a.receive(1_003, 'b', leaves(7));
    expect(a.membership?.members.map(({ memberId }) => memberId)).toEqual(['a']);
  });
});

/** One that has founded a cluster. */
function coordinator(): One {
  const a = new One('a', ['a']);
  a.step(1_000, { type: 'tick' });
  return a;
}
