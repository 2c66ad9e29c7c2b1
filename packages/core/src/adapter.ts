/**
 * For the authors of stores, as `@incumbent/core/adapter`: what every adapter needs besides the contract, and of core's own exports what it needs of them, so that a
 * process that only ends leases loads no elections.
 */

export { checkCall, checkChanges, checkPart, checkPath, checkTime, isPath, PATH_RULE } from './store/checks.ts';
export { endQuietly, onAbort } from './async/abort.ts';
export { checkListing, someOf, withoutValue, type Part } from './store/listing.ts';
export { Lane } from './async/sleep.ts';
export { watchStates, type WatchController } from './store/watch-iterator.ts';
export { moduleBeside } from './store/beside.ts';
export { hasEnded, parseStat, processSpace, type Namespaces, type ProcessStat } from './store/process.ts';
export { systemClock } from './base/clock.ts';
export { isIncumbentError, isPassing, outcomeOf, StoreError } from './base/errors.ts';
export { checkFunction, checkKnown, checkNumber, checkOneOf, invalidOption, invalidSecret } from './base/validate.ts';
export { describeHidden, showUrl, withoutSecret } from './base/redact.ts';
export { systemRandom } from './base/random.ts';
