/** `compareAndSwap`: what it sends again, and what it creates on the way. */

import { expect, it } from 'vitest';

import { type Reader, Writer } from '../src/protocol/jute.ts';
import { multi } from '../src/protocol/multi.ts';
import { create, writeStat } from '../src/protocol/nodes.ts';
import { CALL, NODEEXISTS, NONODE, statOf, StoreWorld } from './support/store-world.ts';

/** The paths that a `multi` of creations creates, in their order. */
function createdBy(body: Reader): readonly string[] {
  const paths: string[] = [];
  for (;;) {
    const [type, done] = [body.int(), body.bool()];
    body.int();
    if (done) return paths;
    expect(type).toBe(create.type);
    paths.push(body.string());
    body.optionalBuffer();
    body.vector((acl) => [acl.int(), acl.string(), acl.string()]);
    body.int();
  }
}

/** The answer to a `multi` whose part `failed` failed. The server skipped the parts after it. */
function failedAt(failed: number, code: number, parts: number): Uint8Array {
  const writer = new Writer();
  for (let part = 0; part < parts; part += 1) {
    const result = part < failed ? 0 : part === failed ? code : -2;
    writer.int(-1).bool(false).int(result).int(result);
  }
  return writer.int(-1).bool(true).int(-1).finish();
}

function created(paths: readonly string[]): Uint8Array {
  const writer = new Writer();
  for (const path of paths) writeStat(writer.int(create.type).bool(false).int(0).string(path), statOf());
  return writer.int(-1).bool(true).int(-1).finish();
}

it('creates the parents of all keys after one refusal, however many are missing', async () => {
  const world = new StoreWorld();
  const store = await world.open();
  const nodes = new Set(['', '/ns']);
  const isMissing = (path: string): boolean => !nodes.has(path.slice(0, path.lastIndexOf('/')));
  let swaps = 0;
  world.instead = ({ type, xid, body }, peer) => {
    if (type === create.type) {
      const path = body.string();
      const code = isMissing(path) ? NONODE : nodes.has(path) ? NODEEXISTS : 0;
      if (code === 0) nodes.add(path);
      peer.reply(xid, code === 0 ? { body: writeStat(new Writer().string(path), statOf()).finish() } : { code });
      return true;
    }
    if (type !== multi.type) return false;
    swaps += 1;
    const paths = createdBy(body);
    const failed = paths.findIndex(isMissing);
    peer.reply(xid, { body: failed === -1 ? created(paths) : failedAt(failed, NONODE, paths.length) });
    return true;
  };
  const keys = Array.from({ length: 10 }, (_, i) => `p${i}/names/k`);
  const swap = store.compareAndSwap(
    keys.map((key) => ({ key, expect: null, put: new Uint8Array() })),
    CALL,
  );
  expect(await world.clock.run(swap)).toEqual({ swapped: true, revisions: keys.map(() => '0') });
  expect(swaps).toBe(2);
  await world.clock.run(store.close());
});
