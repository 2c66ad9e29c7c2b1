import { describe, expect, it } from 'vitest';

import { leaseIdOf, nameBeforeCounter, Namespace, readEntryNode, readRevision, revisionOf, writeRevision } from '../src/namespace.ts';
import { Writer } from '../src/protocol/jute.ts';
import type { Stat } from '../src/protocol/nodes.ts';

const stat: Stat = {
  czxid: 7n,
  mzxid: 8n,
  version: 2,
  cversion: 0,
  ephemeralOwner: 0n,
  dataLength: 1,
  numChildren: 0,
  pzxid: 7n,
};
const namespace = new Namespace('/team/app');
const data = new Uint8Array([1]);

describe('a key', () => {
  it.each([
    ['a', '/team/app/a'],
    ['a/b.c/~d', '/team/app/a/b.c/~d'],
    ['./../...', '/team/app/%2e/%2e%2e/...'],
  ])('%s is the node %s, and is read back', (key, path) => {
    expect([namespace.path(key), namespace.key(path)]).toEqual([path, key]);
  });

  it('is below a namespace whose name ZooKeeper does not allow as it is', () => {
    const dotted = new Namespace('/team/./app');
    expect([dotted.path('a'), dotted.key('/team/%2e/app/a')]).toEqual(['/team/%2e/app/a', 'a']);
  });

  it('has the version, the owner and the creation order of its node', () => {
    expect(namespace.entry('/team/app/q/a', { data, stat })).toEqual({ key: 'q/a', name: 'a', value: data, revision: '2', order: 7n });
    const owned = { ...stat, ephemeralOwner: -1n };
    expect(namespace.entry('/team/app/q/a', { data, stat: owned })).toMatchObject({
      revision: '2@ffffffffffffffff',
      lease: 'ffffffffffffffff',
    });
  });

  it('is not a node that holds nothing', () => {
    expect(namespace.entry('/team/app/q', { data: undefined, stat })).toBeUndefined();
    expect(namespace.entry('/team/app/q', { data: new Uint8Array(), stat })).toMatchObject({ key: 'q' });
  });

  it('has no lease if its owner is not a session', () => {
    expect(namespace.entry('/team/app/q', { data, stat: { ...stat, ephemeralOwner: -(2n ** 63n) } })).not.toHaveProperty('lease');
  });
});

describe('a queue entry', () => {
  const name = `${nameBeforeCounter('m1~i~1~fifo~', '1a')}0000000012`;

  it('shows its lease and its order by its name alone', () => {
    expect(readEntryNode(name)).toEqual({ name: 'm1~i~1~fifo~', lease: '1a', order: 12n });
    expect(namespace.bareEntry(`/team/app/q/${name}`)).toEqual({
      key: `q/${name}`,
      name: 'm1~i~1~fifo~',
      value: new Uint8Array(),
      revision: '',
      order: 12n,
      lease: '1a',
    });
  });

  it('is an entry only if the session in its name owns the node', () => {
    const entry = (ephemeralOwner: bigint) => namespace.entry(`/team/app/q/${name}`, { data, stat: { ...stat, ephemeralOwner } });
    expect(entry(26n)).toMatchObject({ name: 'm1~i~1~fifo~', order: 12n });
    expect(entry(27n)).toMatchObject({ name, order: 7n });
    expect(entry(0n)).toMatchObject({ name, order: 7n });
  });

  it('keeps its order beyond the highest number of the server’s counter', () => {
    const orders = ['2147483646', '2147483647', '-2147483648', '-2147483647'].map(
      (digits) => readEntryNode(`m~z1~${digits}`)?.order ?? -1n,
    );
    expect(orders).toEqual([2_147_483_646n, 2_147_483_647n, 2_147_483_648n, 2_147_483_649n]);
  });

  it.each(['m', 'm~z~0000000001', 'm~z1~1', '~z1~0000000001', 'm~zg~0000000001', 'm~z1~00000000001'])('is not %s', (other) => {
    expect(readEntryNode(other)).toBeUndefined();
  });
});

describe('a revision', () => {
  it('is the version, and the session that the node lives by', () => {
    expect([revisionOf(stat), revisionOf({ ...stat, ephemeralOwner: 26n }), writeRevision(0, '1a')]).toEqual(['2', '2@1a', '0@1a']);
    expect([readRevision('2'), readRevision('2@1a')]).toEqual([
      { version: 2, lease: undefined },
      { version: 2, lease: '1a' },
    ]);
  });

  it.each(['', 'x', '-1', '1@', '1@g', '12345678901'])('that is "%s" matches no node', (revision) => {
    expect(readRevision(revision).version).toBe(-2);
  });

  it('that no node can have does not become the version that matches every node', () => {
    const written = new Writer().int(readRevision('4294967295').version).finish();
    expect([...written]).not.toEqual([255, 255, 255, 255]);
  });
});

it('a lease has the name that ZooKeeper’s own tools give to its session', () => {
  expect([leaseIdOf(0x10000fe3e0a0337n), leaseIdOf(-2n)]).toEqual(['10000fe3e0a0337', 'fffffffffffffffe']);
});
