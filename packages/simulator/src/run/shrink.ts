/**
 * Reduces the faults of a failing plan until it passes without any one of them (Zeller and
 * Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
 */

/**
 * Returns a plan that still fails, and that passes if any one of its faults is left out. Calls
 * `fails` for every smaller plan that it tries.
 */
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

/** The faults without each of this many parts. */
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
