/**
 * A leader whose machine slept, while its monotonic clock stood still. The application does not
 * call `isValid()`: it relies on `signal` and `ended`.
 */

import { describe, expect, it } from 'vitest';
import type { PeerLeadership, Transport } from '../src/index.ts';
import { names } from './best-effort/algorithms.ts';
import { Group as BestEffortGroup } from './best-effort/group.ts';
import { Group } from './support.ts';

const THREE = ['a', 'b', 'c'];
const HEARTBEAT_MS = 200;

/** The reason of an end that has happened. Undefined: the leadership has not ended yet. */
async function reasonOf({ ended }: Pick<PeerLeadership, 'ended'>): Promise<string | undefined> {
  return Promise.race([ended.then(({ reason }) => reason), Promise.resolve().then(() => undefined)]);
}

describe('a leader whose machine slept', () => {
  it('with a quorum ends within a heartbeat, and sends no heartbeat in that term', async () => {
    await using group = new Group(THREE);
    const sent: string[] = [];
    const transport: Transport = {
      open: async (options) => {
        const link = await group.network.open(options);
        const send: typeof link.send = (to, frame, sort) => {
          sent.push(sort);
          link.send(to, frame, sort);
        };
        return { send, close: () => link.close() };
      },
    };
    const [a, b, c] = THREE.map((id) => group.member(id, id === 'a' ? { transport } : {}));
    await Promise.all([b!.start(), c!.start()]);
    const leadership = await group.clock.run(a!.campaign());
    await group.clock.advance(3 * HEARTBEAT_MS);
    expect(sent).toContain('heartbeat');
    sent.length = 0;
    group.clock.advanceWall(1_500);
    await group.clock.advance(HEARTBEAT_MS);
    expect(leadership.signal.aborted).toBe(true);
    expect(await reasonOf(leadership)).toBe('clockJump');
    expect(sent).not.toContain('heartbeat');
  });

  it.each(names)('with %s ends within a heartbeat, and deposes no leader that was elected meanwhile', async (name) => {
    await using group = new BestEffortGroup(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const first = group.led.find(({ signal }) => !signal.aborted)!;
    // The machine of the leader sleeps. To the others, that is the same as if it was cut off.
    group.network.isolate(first.memberId);
    await group.clock.advance(6_000);
    const second = group.led.at(-1)!;
    expect(second.memberId).not.toBe(first.memberId);
    expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
    group.sleep(first.memberId, 6_000);
    group.network.heal();
    await group.clock.advance(HEARTBEAT_MS);
    expect(first.signal.aborted).toBe(true);
    expect(await reasonOf(first)).toBe('clockJump');
    expect(second.signal.aborted).toBe(false);
  });
});
