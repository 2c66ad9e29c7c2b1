/** Writes that were applied and whose answers were lost: each of them uses up one term or none. */

import { connect, type Socket } from 'node:net';

import { Member, type Store } from '@incumbent/core';
import { requireStore, startRedis, uniqueNamespace, until, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../src/index.ts';
import { grantScript, renewScript, revokeScript } from '../src/scripts/leases.ts';
import type { Script } from '../src/scripts/script.ts';
import { enqueueScript, freeingSwapScript, swapScript } from '../src/scripts/transactions.ts';

const CALL = { timeoutMs: 2_000 };
const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const OPTIONS = { acceptWeakStore: 'redis' } as const;
const WITHIN_MS = 15_000;

/** Drops the answer to the next run of a script, and cuts the connection instead. */
class Thief {
  stolen = 0;
  #wanted: string | undefined;

  steal({ digest }: Script): void {
    this.#wanted = digest;
  }

  listen(socket: Socket): Socket {
    const [write, emit] = [socket.write.bind(socket), socket.emit.bind(socket)];
    let isCaught = false;
    socket.write = (chunk: Uint8Array | string, ...rest: never[]): boolean => {
      if (this.#wanted !== undefined && Buffer.from(chunk).includes(this.#wanted)) {
        this.#wanted = undefined;
        isCaught = true;
      }
      return write(chunk, ...rest);
    };
    socket.emit = (event: string, ...values: unknown[]): boolean => {
      if (event !== 'data' || !isCaught) return emit(event, ...values);
      this.stolen += 1;
      socket.destroy();
      return true;
    };
    return socket;
  }
}

describe.runIf(await requireStore({ store: 'redis', own: true }))('an answer that is lost', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  async function open(namespace: string, thief = new Thief()): Promise<Store> {
    const store = await openRedis({
      endpoints: [new URL(server.url).host],
      namespace,
      connect: ({ host, port }) =>
        new Promise((resolve, reject) => {
          const socket = thief.listen(connect({ host, port, noDelay: true }));
          socket.unref();
          socket.once('connect', () => resolve(socket)).once('error', reject);
        }),
    });
    // From now on, the server knows every script by its digest.
    const lease = await store.grantLease(60_000, LEASE_CALL);
    await store.renewLease(lease.id, LEASE_CALL);
    const { key, revision } = await store.enqueue('warm', 'up', new Uint8Array(), lease.id, CALL);
    await store.compareAndSwap([{ key, expect: revision }], CALL);
    await store.compareAndSwap([{ key, expect: revision, delete: true }], CALL);
    await store.revokeLease(lease.id, CALL);
    return store;
  }

  it('makes the outcome of every kind of write unknown, and the write was applied once', async () => {
    const thief = new Thief();
    const namespace = uniqueNamespace();
    await using store = await open(namespace, thief);
    await using healthy = await open(namespace);
    const lease = await store.grantLease(60_000, LEASE_CALL);
    const losing = async (script: Script, call: () => Promise<unknown>): Promise<void> => {
      thief.steal(script);
      await expect(call()).rejects.toMatchObject({ code: 'CONNECTION_LOST', outcome: 'unknown' });
    };
    const bytes = new Uint8Array([1]);
    await losing(swapScript, () => store.compareAndSwap([{ key: 'a', expect: null, put: bytes, lease: lease.id }], CALL));
    const made = await healthy.read('a', CALL);
    expect(made).toMatchObject({ lease: lease.id, value: bytes });
    await losing(enqueueScript, () => store.enqueue('q', 'mine', bytes, lease.id, CALL));
    const [entry] = await healthy.list('q', CALL);
    expect(await store.enqueue('q', 'mine', bytes, lease.id, CALL)).toEqual(entry);
    await losing(renewScript, () => store.renewLease(lease.id, LEASE_CALL));
    await losing(freeingSwapScript, () => store.compareAndSwap([{ key: 'a', expect: made?.revision ?? '', delete: true }], CALL));
    expect(await healthy.read('a', CALL)).toBeUndefined();
    await losing(revokeScript, () => store.revokeLease(lease.id, CALL));
    expect(await healthy.list('q', CALL)).toEqual([]);
    await store.revokeLease(lease.id, CALL);
    await losing(grantScript, () => store.grantLease(60_000, LEASE_CALL));
    expect(thief.stolen).toBe(6);
  });

  it('to a claim, a publication, a handover or a resignation uses up one term, or none', async () => {
    const namespace = uniqueNamespace();
    const [thief, other] = [new Thief(), new Thief()];
    await using mine = await open(namespace, thief);
    await using theirs = await open(namespace, other);
    await using a = new Member(mine, { memberId: 'a', ttlMs: 5_000 });
    await using b = new Member(theirs, { memberId: 'b', ttlMs: 5_000 });
    const stolen = (from: Thief, count: number): Promise<boolean> =>
      until(() => from.stolen === count || undefined, { what: 'the answer is stolen', withinMs: WITHIN_MS });

    thief.steal(swapScript);
    const first = await a.election('controller', OPTIONS).campaign();
    await stolen(thief, 1);
    expect(first.isValid()).toBe(true);

    thief.steal(swapScript);
    await first.publish('mine').catch(() => {});
    await stolen(thief, 2);
    expect(first.isValid()).toBe(true);
    expect(Buffer.from((await theirs.read('elections/controller/leader', CALL))?.value ?? []).toString()).toContain('"mine"');

    const asB = b.election('controller', OPTIONS).campaign();
    await until(async () => (await a.election('controller').candidates()).length === 2, { what: 'b waits', withinMs: WITHIN_MS });
    thief.steal(freeingSwapScript);
    await first.handover('b').catch(() => {});
    await stolen(thief, 3);
    const second = await asB;
    expect([second.term, second.isValid(), first.isValid()]).toEqual([first.term + 1n, true, false]);

    other.steal(freeingSwapScript);
    await second.resign();
    await stolen(other, 1);
    expect(await theirs.read('elections/controller/leader', CALL)).toBeUndefined();
    const third = await a.election('controller').campaign();
    expect(third.term).toBe(first.term + 2n);
  });
});
