import { describe, expect, test } from 'vitest';

import { until } from '../src/index.ts';

describe('until', () => {
  test('gives the first answer that is not false, null or undefined', async () => {
    const answers = [false, null, undefined, 0];
    const looks: unknown[] = [];
    const look = (): boolean | number | null | undefined => {
      const answer = answers[looks.length];
      looks.push(answer);
      return answer;
    };
    await expect(until(look, { what: 'an answer', withinMs: 5_000, everyMs: 1 })).resolves.toBe(0);
    expect(looks).toEqual(answers);
  });

  test('names what it waited for in vain, and keeps what the condition threw last', async () => {
    const thrown = new Error('not yet');
    const failure = until(() => Promise.reject(thrown), { what: 'a leader', withinMs: 50 });
    await expect(failure).rejects.toThrow('waited 50 ms in vain for a leader');
    await expect(failure).rejects.toHaveProperty('cause', thrown);
  });

  test('does not outlast its time on a condition that hangs', async () => {
    const start = performance.now();
    await expect(until(() => new Promise<boolean>(() => {}), { what: 'nothing', withinMs: 60 })).rejects.toThrow('nothing');
    expect(performance.now() - start).toBeLessThan(4_000);
  });

  test('looks once more after its time, in which the whole machine may have stood still', async () => {
    let looks = 0;
    const look = (): boolean => {
      looks += 1;
      const goesOnAt = performance.now() + 30;
      while (looks === 1 && performance.now() < goesOnAt);
      return looks === 2;
    };
    await expect(until(look, { what: 'a second look', withinMs: 20 })).resolves.toBe(true);
  });

  test('a condition that throws at first does not hold yet', async () => {
    let looks = 0;
    const look = (): string => {
      looks += 1;
      if (looks < 3) throw new Error('too early');
      return 'there';
    };
    await expect(until(look, { what: 'it', withinMs: 5_000, everyMs: 1 })).resolves.toBe('there');
  });
});
