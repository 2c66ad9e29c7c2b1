/** Makes a failing plan smaller: fewer faults, one of which less would let it pass. (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.) */

import type { Fault } from './fault.ts';
import type { Plan } from './plan.ts';

/** A plan that still fails, and that passes if any one of its faults is left out. `fails` is asked of every smaller plan that is tried. */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let { faults } = plan;
  let parts = 2;
  while (faults.length > 0) {
    const smaller = await firstFailing(plan, without(faults, parts), fails);
    if (smaller !== undefined) {
      faults = smaller;
      parts = Math.max(parts - 1, 2);
    } else if (parts >= faults.length) break;
    else parts = Math.min(parts * 2, faults.length);
  }
  return { ...plan, faults };
}

/** The faults without each of so many parts of them. */
function without(faults: readonly Fault[], parts: number): readonly (readonly Fault[])[] {
  const size = Math.ceil(faults.length / parts);
  return Array.from({ length: Math.ceil(faults.length / size) }, (_, i) => [...faults.slice(0, i * size), ...faults.slice((i + 1) * size)]);
}

async function firstFailing(
  plan: Plan,
  candidates: readonly (readonly Fault[])[],
  fails: (plan: Plan) => Promise<boolean>,
): Promise<readonly Fault[] | undefined> {
  for (const faults of candidates) if (await fails({ ...plan, faults })) return faults;
  return undefined;
}
