/** The arena records what happens in each election, and its end tells what was broken. */

import { runCase } from '@incumbent/conformance';
import { expect, it } from 'vitest';
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
