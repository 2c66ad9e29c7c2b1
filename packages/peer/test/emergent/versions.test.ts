/** Forged versions: the members keep running, use higher versions, and let others join. */

import { describe, expect, it } from 'vitest';
import { coordinatorOf, keyOf, revise, type List } from '../../src/emergent/list.ts';
import { readMessage, type EmergentMessage } from '../../src/emergent/message.ts';
import { resolveRules } from '../../src/emergent/options.ts';
import { Cluster } from './cluster.ts';
import { One } from './one.ts';

const LAST = Number.MAX_SAFE_INTEGER;
/** A member that knows only lower versions accepts this one, but no higher one. */
const HIGHEST = 2 ** 52 + 2 ** 32;

const versions = [
  ['the last one', LAST],
  ['the last but one', LAST - 1],
  ['the lowest that is ignored', HIGHEST + 1],
  ['the highest that is taken', HIGHEST],
  ['one of a usual size', 1_000_000],
] as const;

type Falsify = (incarnation: number, list: List) => EmergentMessage;

/** The messages of b with an implausible version, and their receivers. */
function lies(version: number): readonly (readonly [to: string, falsify: Falsify])[] {
  const maker = 'b 1';
  const beat: Falsify = (incarnation, list) => {
    return { type: 'heartbeat', incarnation, version, maker, coordinator: keyOf(coordinatorOf(list)), standing: true };
  };
  return [
    ['a', beat],
    ['a', (incarnation) => ({ type: 'pull', incarnation, version, maker, standing: true })],
    ['c', beat],
    ['c', (_, list) => ({ type: 'update', list: { ...list, version, maker } })],
  ];
}

/** Three members, the key of b, and the newest list. */
async function together(): Promise<{ readonly cluster: Cluster; readonly incarnation: number; readonly list: List }> {
  const cluster = new Cluster({ seeds: ['a', 'b', 'c'] });
  const lists: List[] = [];
  cluster.isLost = (_, __, message) => {
    if (message.type === 'update') lists.push(message.list);
    return false;
  };
  for (const id of ['a', 'b', 'c']) {
    cluster.start(id);
    await cluster.pass(400);
  }
  const list = lists.at(-1)!;
  return { cluster, incarnation: list.members.find(({ memberId }) => memberId === 'b')!.incarnation, list };
}

describe.each(versions)('members of which one sends %s', (_, version) => {
  it.each(lies(version).map(([to, falsify]) => [falsify(0, listOfOne()).type, to, falsify] as const))(
    'by %s to %s go on, follow a coordinator that crashes, let others join, and merge after a split',
    async (__, to, falsify) => {
      const { cluster, incarnation, list } = await together();
      await using _cluster = cluster;
      cluster.says('b', to, falsify(incarnation, list));
      await cluster.pass(1_000);
      cluster.start('d');
      await cluster.pass(1_000);
      expect(cluster.list().split(' ').toSorted()).toEqual(['a', 'b', 'c', 'd']);
      expect(cluster.leaders).toBe('a');
      cluster.split(['a', 'b'], ['c', 'd']);
      await cluster.pass(2_000);
      cluster.heal();
      await cluster.pass(2_000);
      expect(cluster.list()).not.toContain('|');
      cluster.crash(cluster.membership('d')!.coordinator);
      await cluster.pass(2_000);
      expect(cluster.list()).not.toContain('|');
      expect(cluster.membership('d')).toMatchObject({ coordinator: cluster.leaders, members: { length: 3 } });
      expect(cluster.membership('d')?.version).toBeLessThan(version > HIGHEST ? 100 : version + 100);
    },
  );
});

describe('an implausible version', () => {
  it('is reported as an error', () => {
    const a = coordinator();
    const beat = { type: 'heartbeat', incarnation: 7, version: LAST, maker: 'b 7', coordinator: 'b 7', standing: true } as const;
    expect(a.receive(1_002, 'b', beat)).toEqual([]);
    expect(a.conflicts).toEqual([{ code: 'VERSION_TOO_HIGH', from: 'b', version: LAST }]);
    expect(a.membership?.version).toBe(2);
  });

  it('is ignored by a claim, with or without a list', () => {
    const { c, claim } = claiming();
    const answer = { type: 'answer', claim, incarnation: 1, coordinator: 'a 1', misses: true } as const;
    c.receive(3_000, 'b', { ...answer, version: LAST, list: undefined });
    c.receive(3_000, 'b', { ...answer, version: 3, list: { ...listOfOne(), version: LAST } });
    expect(c.conflicts.map(({ version }) => version)).toEqual([LAST, LAST]);
  });

  it('is accepted by a process that joins, if enough versions are left above it', () => {
    const join = (version: number): One => {
      const c = new One('c', ['a']);
      const [a] = listOfOne().members;
      const members = [a!, { ...a!, memberId: 'c', incarnation: c.incarnation, age: 2 }];
      c.receive(10, 'a', { type: 'update', list: { ...listOfOne(), version, members } });
      return c;
    };
    expect(join(HIGHEST + 2 ** 40).membership?.version).toBe(HIGHEST + 2 ** 40);
    expect(join(LAST).membership).toBeUndefined();
  });
});

describe('a list', () => {
  it('is refused if its round is above its version', () => {
    expect(readMessage({ type: 'update', list: { ...listOfOne(), round: 10 } })).toBeUndefined();
  });

  it('restarts its ages, in the same order, if the next age would be unreadable', () => {
    const [a] = listOfOne().members;
    const members = [LAST, LAST - 1, 5].map((age, i) => ({ ...a!, memberId: `m${i}`, age }));
    const list = revise(resolveRules({ cluster: 'x' }), listOfOne(), { maker: 'a 1', members });
    expect(list.members.map(({ memberId, age }) => `${memberId} ${age}`)).toEqual(['m2 1', 'm1 2', 'm0 3']);
    expect(readMessage({ type: 'update', list })).toEqual({ type: 'update', list });
  });
});

/** A list of version 9 with a alone. */
function listOfOne(): List {
  const members = [{ memberId: 'a', incarnation: 1, age: 1, address: '', standing: true }];
  return { version: 9, maker: 'a 1', round: 9, members, lost: [], minorityOf: [] };
}

/** A member that has founded a cluster and added b. */
function coordinator(): One {
  const a = new One('a', ['a']);
  a.step(1_000, { type: 'tick' });
  a.receive(1_001, 'b', { type: 'join', incarnation: 7, address: 'at b', standing: true });
  return a;
}

/** The youngest of three members. It suspects the first one and asks the second. */
function claiming(): { readonly c: One; readonly claim: number } {
  const c = new One('c', ['a']);
  const first = coordinatorOf(listOfOne());
  const members = [first, { ...first, memberId: 'b', age: 2 }, { ...first, memberId: 'c', incarnation: c.incarnation, age: 3 }];
  c.receive(10, 'a', { type: 'update', list: { ...listOfOne(), members } });
  for (let atMs = 100; atMs <= 3_000; atMs += 100)
    for (const { message } of c.step(atMs, { type: 'tick' })) if (message.type === 'ask') return { c, claim: message.claim };
  throw new Error('it does not claim');
}
