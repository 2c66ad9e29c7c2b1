/** For the authors of stores, as `@incumbent/core/adapter`: what every adapter needs besides the contract. */

export { checkCall, checkChanges, checkPart, checkPath, checkTime } from './store-checks.ts';
export { onAbort } from './signals.ts';
export { withoutValue } from './without-value.ts';
export { StateStream } from './state-stream.ts';
export { moduleBeside } from './beside.ts';
export { hasEnded, parseStat, processSpace, type Namespaces, type ProcessStat } from './proc.ts';
