import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Entry, Log } from '../log.ts';

let folder: string;
let files = 0;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'incumbent-log-'))));
afterAll(() => rmSync(folder, { recursive: true }));

function freshPath(): string {
  files += 1;
  return join(folder, `${files}.log`);
}

/** A log with entries of these epochs. */
function logOf(epochs: readonly number[]): Log {
  const log = new Log(freshPath());
  log.append(epochs.map((epoch, offset) => ({ epoch, value: `${epoch} at ${offset}` })));
  return log;
}

function all(log: Log): readonly Entry[] {
  return log.read(0, log.end);
}

describe('a log', () => {
  it('is the same when it is opened again', () => {
    const path = freshPath();
    const log = new Log(path);
    log.append([
      { epoch: 1, value: 'one' },
      { epoch: 1, value: 'zwölf' },
      { epoch: 2, value: '' },
    ]);
    log.replace({ offset: 1, epoch: 1 }, [{ epoch: 3, value: 'other' }]);
    log.append([{ epoch: 3, value: 'last' }]);
    log.close();
    expect(all(new Log(path)).map(({ value }) => value)).toEqual(['one', 'other', 'last']);
  });

  it('keeps nothing of a line that was never finished, as by a SIGKILL in the middle of it', () => {
    const path = freshPath();
    const log = new Log(path);
    log.append([{ epoch: 1, value: 'whole' }]);
    log.close();
    appendFileSync(path, '{"epoch":1,"val');
    const again = new Log(path);
    again.append([{ epoch: 2, value: 'next' }]);
    expect(readFileSync(path, 'utf8')).toBe('{"epoch":1,"value":"whole"}\n{"epoch":2,"value":"next"}\n');
  });

  it('takes what fits, once', () => {
    const log = logOf([1, 1]);
    const entries = [{ epoch: 1, value: 'new' }];
    expect(log.replace({ offset: 2, epoch: 1 }, entries)).toBeUndefined();
    expect(log.replace({ offset: 2, epoch: 1 }, entries)).toBeUndefined();
    expect(all(log).at(-1)?.value).toBe('new');
    expect(log.end).toBe(3);
  });

  it('says where to try next, when it is shorter, or has other epochs there', () => {
    expect(logOf([1]).replace({ offset: 3, epoch: 1 }, [])).toBe(1);
    expect(logOf([1, 2, 2, 2]).replace({ offset: 4, epoch: 3 }, [])).toBe(1);
  });

  it('never gives up what a slower message of the same leader does not mention', () => {
    const log = logOf([1, 1, 1]);
    expect(log.replace({ offset: 0, epoch: 0 }, [{ epoch: 1, value: '1 at 0' }])).toBeUndefined();
    expect(log.end).toBe(3);
  });
});

/**
 * Replicates the leader's log to a follower, at most so many entries at once; returns the tried
 * offsets.
 */
function replicate(leader: Log, follower: Log, atOnce: number): readonly number[] {
  const tried = [leader.end];
  for (let offset = leader.end; ; tried.push(offset)) {
    const again = follower.replace(leader.positionOf(offset), leader.read(offset, atOnce));
    if (again === undefined) return tried;
    offset = again;
  }
}

it('whatever logs have become under changing leaders, one becomes like the other, by ever lower offsets', () => {
  const reign = fc.record({
    leader: fc.integer({ min: 0, max: 2 }),
    follower: fc.integer({ min: 0, max: 2 }),
    writes: fc.integer({ min: 0, max: 3 }),
    atOnce: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(reign, { maxLength: 12 }), (reigns) => {
      const logs = [logOf([]), logOf([]), logOf([])];
      for (const [index, { leader, follower, writes, atOnce }] of reigns.entries()) {
        const epoch = index + 1;
        logs[leader]!.append(Array.from({ length: writes }, (_, write) => ({ epoch, value: `${epoch}.${write}` })));
        if (follower !== leader) replicate(logs[leader]!, logs[follower]!, atOnce);
      }
      const [leader, follower] = [logs[0]!, logs[1]!];
      leader.append([{ epoch: reigns.length + 1, value: 'last' }]);
      const tried = replicate(leader, follower, 100);
      expect(tried).toEqual(tried.toSorted((a, b) => b - a));
      expect(new Set(tried).size).toBe(tried.length);
      expect(all(follower)).toEqual(all(leader));
      for (const log of logs) log.remove();
    }),
    { numRuns: 200 },
  );
});
