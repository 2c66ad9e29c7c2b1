/** A breadth-first search over everything that may happen. */

import { keyOf, type Model } from './model.ts';
import type { Rules } from './world.ts';

interface Node {
  readonly model: Model;
  readonly from: Node | undefined;
  readonly what: string;
}

export interface Found {
  readonly states: number;
  readonly moves: number;
  /** True if every reachable state was explored. */
  readonly exhausted: boolean;
  readonly elections: number;
  readonly deepest: number;
}

/** An invariant does not hold, or all members are stuck. Has the shortest way to that state. */
export class Broken extends Error {
  readonly what: string;
  readonly steps: readonly string[];
  /** The number of states explored until then. */
  readonly states: number;

  constructor(what: string, steps: readonly string[], states: number) {
    super(`${what}, after:\n${steps.map((step) => `  ${step}`).join('\n')}`);
    this.what = what;
    this.steps = steps;
    this.states = states;
  }
}

/** Throws {@link Broken} if an invariant does not hold, or all members are stuck. */
export function explore(rules: Rules, begin: Model, maxStates: number): Found {
  const seen = new Set([keyOf(begin)]);
  let layer: Node[] = [{ model: begin, from: undefined, what: 'the beginning' }];
  let [moves, elections, deepest] = [0, 0, 0];
  while (layer.length > 0 && seen.size < maxStates) {
    const next: Node[] = [];
    for (const node of layer) {
      elections += Number(node.from !== undefined && node.model.elected > node.from.model.elected);
      for (const [what, model] of rules.moves(node.model)) {
        moves += 1;
        const after = { model, from: node, what };
        const broken = rules.broken(node.model, model);
        if (broken !== undefined) throw new Broken(broken, wayTo(after), seen.size);
        const key = keyOf(model);
        if (seen.has(key)) continue;
        seen.add(key);
        const stuck = rules.stuck(model, key);
        if (stuck !== undefined) throw new Broken(stuck, wayTo(after), seen.size);
        next.push(after);
      }
      if (seen.size >= maxStates) break;
    }
    layer = next;
    deepest += 1;
  }
  return { states: seen.size, moves, exhausted: layer.length === 0, elections, deepest };
}

function wayTo(node: Node): readonly string[] {
  const steps: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.from) steps.unshift(at.what);
  return steps;
}
