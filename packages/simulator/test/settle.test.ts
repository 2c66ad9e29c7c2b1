import { describe, expect, it } from 'vitest';
import { drive } from '../src/time/settle.ts';
import { guarded } from '../src/time/forbid-globals.ts';
import { profileOf, run } from '../src/index.ts';

describe.each(['native', 'turns'] as const)('promises between events, drain %s', (drain) => {
  it('all settle before the next event', async () => {
    const seen: string[] = [];
    const chain = async (name: string): Promise<void> => {
      for (let i = 0; i < 20; i += 1) await Promise.resolve();
      seen.push(name);
    };
    const events = ['a', 'b', 'c'];
    await drive(() => {
      const name = events.shift();
      if (name === undefined) return false;
      seen.push(`event ${name}`);
      void chain(name);
      return true;
    }, drain);
    expect(seen).toEqual(['event a', 'a', 'event b', 'b', 'event c', 'c']);
  });

  it('do not hide the error that an event throws', async () => {
    const fail = (): never => {
      throw new Error('planted');
    };
    await expect(drive(fail, drain)).rejects.toThrow('planted');
  });
});

it('a run is the same whichever way promises settle', async () => {
  const plan = profileOf('stormy').plan(3);
  const [native, turns] = [await run(plan, { settlePromises: 'native' }), await run(plan, { settlePromises: 'turns' })];
  expect(turns.hash).toBe(native.hash);
  expect(turns.figures).toEqual(native.figures);
});

it('functions that read the machine throw while a world runs, and work again afterwards', () => {
  const forbidden: readonly (() => unknown)[] = [
    () => Date.now(),
    () => new Date(),
    () => Math.random(),
    () => setTimeout(() => {}, 1),
    () => performance.now(),
    () => crypto.randomUUID(),
  ];
  guarded(() => {
    for (const use of forbidden) expect(use).toThrow('not the same in every run');
  });
  expect(() => guarded(() => forbidden[0]?.())).toThrow('Date was used');
  for (const use of forbidden) expect(use).not.toThrow();
});
