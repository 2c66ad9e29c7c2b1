/**
 * For the authors of stores, as `@incumbent/core/adapter`: what every adapter needs besides the contract, and of core's own exports what it needs of them, so that a
 * process that only ends leases loads no elections.
 */

export { checkCall, checkChanges, checkPart, checkPath, checkTime, isPath, PATH_RULE } from './store-checks.ts';
export { endQuietly, onAbort } from './signals.ts';
export { checkListing, someOf, withoutValue, type Part } from './listing.ts';
export { Lane } from './waits.ts';
export { watchStates, type WatchController } from './watch-states.ts';
export { moduleBeside } from './beside.ts';
export { hasEnded, parseStat, processSpace, type Namespaces, type ProcessStat } from './proc.ts';
export { systemClock } from './clock.ts';
export { isIncumbentError, isPassing, outcomeOf, StoreError } from './errors.ts';
export { checkFunction, checkKnown, checkNumber, checkOneOf, invalidOption, invalidSecret, invalidText } from './options.ts';
export { describeHidden, showText, showUrl, withoutSecret } from './shown.ts';
export { systemRandom } from './random.ts';
