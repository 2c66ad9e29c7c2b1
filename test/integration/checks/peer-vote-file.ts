/** The vote file of a process that is killed while it writes the file. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { makeScratch, spawnScript, type ScriptEvent } from '@incumbent/test-support';
import type { Check } from './check.ts';
import { WAIT_MS } from './pair.ts';

const WRITER = new URL('../vote-writer.ts', import.meta.url);
const MEMBER = 'member-1';

/** What the next process must find. */
interface Expected {
  /** The term of the last vote that was saved, as its process reported. */
  readonly saved: bigint;
  /** The term of the vote that the last process was writing when it was killed. */
  readonly written: bigint;
}

/**
 * Each run stops at every tenth byte, from its own number on, so that all runs together stop at
 * each byte.
 */
const RUNS = 10;
/** More bytes than a vote has, so that the process does not stop. */
const BEYOND = 1_000_000;

export const peerVoteFile: Check = {
  name: 'peer-vote-file',
  claim:
    'A process that is killed (kill -9) at any byte of a write to its vote file loses no vote: the next one finds the vote that was saved last, or the one that was being written, whole.',
  method:
    `Two votes are saved. Then, one process after the other, on one file: each loads the vote, and writes the next one a byte at a time, until it stands still and gets SIGKILL: in run n before byte n − 1, ${RUNS} bytes further each time, ` +
    `and after the last byte, before it is made durable; so the ${RUNS} runs have killed one at each. The last process of a run is left alone. What each finds is checked. It is the process that is killed and not the machine: ` +
    'what the system has taken over stays. kept, finished: how often the next process found the vote before, or the new one.',
  runs: RUNS,
  parallel: 1,
  open: async () => {
    const scratch = await makeScratch('vote-file');
    return {
      run: async (index) => {
        const path = join(scratch.path, `votes-${index}`);
        for (const loaded of [0n, 1n]) assert.deepEqual(await write(path, BEYOND), { loaded, isSaved: true });
        let expected: Expected = { saved: 2n, written: 2n };
        const found = { kills: 0, kept: 0, finished: 0 };
        for (let bytes = index % RUNS; ; bytes += RUNS) {
          const { loaded, isSaved } = await write(path, bytes);
          assert.ok(
            loaded === expected.saved || loaded === expected.written,
            `after a kill before byte ${bytes} the vote is that of term ${loaded}`,
          );
          if (found.kills > 0) found[loaded === expected.saved ? 'kept' : 'finished'] += 1;
          expected = { saved: loaded, written: loaded + 1n };
          if (isSaved) break;
          found.kills += 1;
        }
        assert.equal((await write(path, 0)).loaded, expected.written);
        return { figures: found };
      },
      [Symbol.asyncDispose]: async () => scratch.remove(),
    };
  },
};

/**
 * One process: the term that it found, and whether it saved the next vote or was killed at that
 * byte.
 */
async function write(path: string, bytes: number): Promise<{ readonly loaded: bigint; readonly isSaved: boolean }> {
  await using writer = await spawnScript(WRITER, { args: [path, MEMBER, String(bytes)] });
  const isOver = ({ event }: ScriptEvent): boolean => event === 'standing' || event === 'saved';
  const last = await writer.waitFor(isOver, { withinMs: WAIT_MS });
  const loaded = await writer.waitFor('loaded', { withinMs: WAIT_MS });
  assert.equal(
    loaded.fields['votedFor'],
    BigInt(String(loaded.fields['term'])) % 2n === 0n && loaded.fields['term'] !== '0' ? MEMBER : undefined,
  );
  if (last.event === 'standing') writer.sigkill();
  assert.equal(await writer.exited, last.event === 'standing' ? 137 : 0);
  return { loaded: BigInt(String(loaded.fields['term'])), isSaved: last.event === 'saved' };
}
