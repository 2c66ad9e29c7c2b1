/** Breadth first over everything that may happen. */

import { keyOf, type Model, type Rules } from './world.ts';

interface Node {
  readonly model: Model;
  readonly from: Node | undefined;
  readonly what: string;
}

export interface Found {
  readonly states: number;
  readonly moves: number;
  /** Nothing was left out: every state that can be reached was. */
  readonly exhausted: boolean;
  readonly elections: number;
  readonly deepest: number;
}

/** Throws, with the shortest way there, where a promise is broken or everybody is stuck. */
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
        if (broken !== undefined) throw new Error(story(after, broken));
        const key = keyOf(model);
        if (seen.has(key)) continue;
        seen.add(key);
        const stuck = rules.stuck(model);
        if (stuck !== undefined) throw new Error(story(after, stuck));
        next.push(after);
      }
      if (seen.size >= maxStates) break;
    }
    layer = next;
    deepest += 1;
  }
  return { states: seen.size, moves, exhausted: layer.length === 0, elections, deepest };
}

function story(node: Node, end: string): string {
  const steps: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.from) steps.unshift(at.what);
  return `${end}, after:\n${steps.map((step) => `  ${step}`).join('\n')}`;
}
