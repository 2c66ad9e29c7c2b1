/**
 * The scenarios in packages/peer/scenarios agree with what happens. `test/stage/script.ts` writes
 * them.
 */

import { describe, expect, it } from 'vitest';
import { names } from './best-effort/algorithms.ts';
import { play, scenarios, textOf } from './stage/script.ts';

describe('the result of a scenario is up to date', () => {
  it.each(scenarios())('%s', (name) => {
    expect(play(textOf(name))).toBe(textOf(name));
  });

  it('each algorithm has a scenario', () => {
    const elections = scenarios().map((name) => /^cluster (\w+)/m.exec(textOf(name))?.[1]);
    expect(new Set(elections)).toEqual(new Set(names));
  });

  it('a scenario with another result fails', () => {
    const text = textOf('bully.txt');
    expect(play(text.replace('3 to 5: grant', '3 to 4: grant'))).toBe(text);
    expect(play(text.replace('unheard 6 3', 'unheard 6 2'))).not.toBe(text);
  });
});
