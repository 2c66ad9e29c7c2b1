/** The arena records what happens in each election, and its end tells what was broken. */

import { runCase } from '@incumbent/conformance';
import { expect, it, vi } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import type { Arena } from '../src/election/arena.ts';
import { electionCasesOf } from '../src/election/define.ts';

/** Runs a case with this body on the memory store. */
function planted(body: (arena: Arena) => Promise<void>): Promise<void> {
  return runCase(electionCasesOf('election')('planted', body), memoryHarness(), (reason) => expect.unreachable(reason));
}

it('samples each leadership in its own election', async () => {
  await planted(async (arena) => {
    const { member } = await arena.member('a');
    arena.record(await member.election('other').campaign(), 'other');
    await arena.sleep(arena.ttlMs);
    const sampled = arena.events.flatMap((event) => (event.type === 'valid' ? [event.election] : []));
    expect(sampled.length).toBeGreaterThan(10);
    expect(new Set(sampled)).toEqual(new Set(['other']));
  });
});

it('tells that an older leadership is valid at the moment of the next election', async () => {
  const both = planted(async (arena) => {
    const older = await (await arena.member('a')).member.election('one').campaign();
    const newer = await (await arena.member('b')).member.election('two', { minTerm: 2n }).campaign();
    const electedAt = arena.now();
    // As if both led one election.
    arena.record(older);
    arena.record(newer);
    await older.resign();
    expect(arena.now()).toBe(electedAt);
  });
  await expect(both).rejects.toThrow(/a \(controller, term 1\) was valid at .* after b \(controller, term 2\) was elected/);
});

it('tells that a leadership is valid when its signal has aborted', async () => {
  const lasting = planted(async (arena) => {
    const leadership = await arena.campaign(await arena.member('a'));
    vi.spyOn(leadership, 'isValid').mockReturnValue(true);
    await leadership.resign();
  });
  await expect(lasting).rejects.toThrow('a (controller, term 1) was valid after it had ended');
});
