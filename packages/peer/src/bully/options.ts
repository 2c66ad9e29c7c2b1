import { checkNumber } from '@incumbent/core/adapter';
import { resolveRules, type BestEffortOptions, type Rules } from '../best-effort/options.ts';

/** The options of `bully`, on which all members must agree. */
export interface BullyOptions extends BestEffortOptions {
  /**
   * The time in which half of a leader's failures are forgiven, in ms. A leader that fails a second
   * time within this time ranks below all members that have failed less. 1 to 10,000 times
   * `failureTimeoutMs`. Default: 30 times.
   */
  readonly forgiveMs?: number | undefined;
}

/** `own`: the names of the options that only this algorithm has. */
export function resolveBullyRules(name: string, options: BullyOptions, own: readonly string[]): Rules & { readonly forgiveMs: number } {
  const rules = resolveRules(name, options, ['forgiveMs', ...own]);
  const { failureTimeoutMs } = rules;
  const forgiveMs = checkNumber('forgiveMs', options.forgiveMs, 30 * failureTimeoutMs, {
    min: failureTimeoutMs,
    max: 10_000 * failureTimeoutMs,
    why: '1 to 10,000 times failureTimeoutMs',
  });
  return { ...rules, forgiveMs, configuration: `${rules.configuration}, forgiven by half in ${forgiveMs} ms` };
}
