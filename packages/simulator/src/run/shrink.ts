/** Makes a failing plan smaller: fewer faults, one of which less would let it pass. (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.) */

/** A plan that still fails, and that passes if any one of its faults is left out. `fails` is asked of every smaller plan that is tried. */
export async function shrink<F, P extends { readonly faults: readonly F[] }>(
  plan: P & { readonly faults: readonly F[] },
  fails: (plan: P) => Promise<boolean>,
): Promise<P> {
  let faults: readonly F[] = plan.faults;
  let parts = 2;
  while (faults.length > 0) {
    const smaller = await firstFailing(without(faults, parts), (some) => fails({ ...plan, faults: some }));
    if (smaller !== undefined) {
      faults = smaller;
      parts = Math.max(parts - 1, 2);
    } else if (parts >= faults.length) break;
    else parts = Math.min(parts * 2, faults.length);
  }
  return { ...plan, faults };
}

/** The faults without each of so many parts of them. */
function without<F>(faults: readonly F[], parts: number): readonly (readonly F[])[] {
  const size = Math.ceil(faults.length / parts);
  return Array.from({ length: Math.ceil(faults.length / size) }, (_, i) => [...faults.slice(0, i * size), ...faults.slice((i + 1) * size)]);
}

async function firstFailing<F>(
  candidates: readonly (readonly F[])[],
  fails: (faults: readonly F[]) => Promise<boolean>,
): Promise<readonly F[] | undefined> {
  for (const faults of candidates) if (await fails(faults)) return faults;
  return undefined;
}
