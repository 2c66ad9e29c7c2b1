/**
 * The scenarios in packages/peer/scenarios agree with what happens. `test/stage/script.ts` writes
 * them.
 */

import { describe, expect, it } from 'vitest';
import { names } from './best-effort/algorithms.ts';
import { play, scenarios, textOf } from './stage/script.ts';

describe('as it is written', () => {
  it.each(scenarios())('%s', (name) => {
    expect(play(textOf(name))).toBe(textOf(name));
  });

  it('there is a scenario of each election', () => {
    const elections = scenarios().map((name) => /^cluster (\w+)/m.exec(textOf(name))?.[1]);
    expect(new Set(elections)).toEqual(new Set(names));
  });

  it('what is written otherwise is noticed', () => {
    const text = textOf('bully.txt');
    expect(play(text.replace('3 to 5: grant', '3 to 4: grant'))).toBe(text);
    expect(play(text.replace('unheard 6 3', 'unheard 6 2'))).not.toBe(text);
  });
});
