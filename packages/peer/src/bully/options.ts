import { checkNumber } from '@incumbent/core/adapter';
import { resolveRules, type BestEffortOptions, type Rules } from '../best-effort/options.ts';

export interface BullyOptions extends BestEffortOptions {
  /**
   * After how long half of a leader's failures are forgiven, in ms. From 1 to 10,000 times the
   * failure timeout. Default 30 times. A leader that fails a second time within that goes behind
   * all that have failed less.
   */
  readonly forgiveMs?: number;
}

/** `own`: the names of the options besides. */
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
