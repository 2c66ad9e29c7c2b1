/** A leader, and others in the queue behind it. */

import type { MemoryStore } from '@incumbent/memory';
import type { Leadership, Member, MemberOptions } from '../../src/index.ts';
import { track, type Tracked } from './track.ts';
import { NAME, TTL_MS, World, type WorldOptions } from './world.ts';

/** How long the work gets to stop. */
export const DRAIN_MS = TTL_MS / 10;

export interface Led {
  readonly world: World;
  /** The leader's own connection, whose link can be broken. */
  readonly store: MemoryStore;
  readonly member: Member;
  readonly leadership: Leadership;
}

/** A member that leads. */
export async function led(options: WorldOptions = {}, memberOptions: MemberOptions = {}): Promise<Led> {
  const world = new World(options);
  const store = world.connect();
  const member = world.member('a', memberOptions, store);
  return { world, store, member, leadership: await world.elect(member) };
}

/** Another one in the queue. */
export async function behind(world: World, memberId: string, value?: unknown): Promise<Tracked<Leadership>> {
  const next = track(world.member(memberId).election(NAME, { value }).campaign());
  await world.pass(20);
  return next;
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Resolves after so many ms of the world's clock. */
export function after(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => {
    world.clock.schedule(ms, resolve);
  });
}
