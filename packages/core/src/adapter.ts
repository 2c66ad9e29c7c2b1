/**
 * `@incumbent/core/adapter`, for the authors of stores and of elections without a store: helpers
 * that the users' exports leave out. Importing it does not load the elections, so a process that
 * only revokes leases stays small.
 */

export { checkSignal, endQuietly, isAbort, onAbort, orAborted, withHandled } from './async/abort.ts';
export { Backoff } from './async/backoff.ts';
export { Semaphore } from './async/semaphore.ts';
export { keepAlive, sleep } from './async/sleep.ts';
export { ValueStream } from './async/value-stream.ts';
export { checkClock, momentOf, systemClock } from './base/clock.ts';
export { isIncumbentError, isRetryable, outcomeOf, StoreError, textOfError } from './base/errors.ts';
export { withJson } from './base/json.ts';
export { explainDetached } from './base/methods.ts';
export { checkRandom, fraction, systemRandom } from './base/random.ts';
export { describeHidden, showText, showUrl, withoutSecret } from './base/redact.ts';
export { checkLogger, Telemetry, telemetryEvents } from './base/telemetry.ts';
export {
  checkBoolean,
  checkFunction,
  checkKnown,
  checkName,
  checkNumber,
  checkOneOf,
  hasMethods,
  invalidOption,
  invalidSecret,
  invalidText,
  isName,
  MAX_NAME_CHARACTERS,
  type NumberRange,
} from './base/validate.ts';
export { Deadline } from './lease/deadline.ts';
export { longestDrainMs, marginRatio, MAX_TTL_MS, MIN_TTL_MS } from './lease/timing.ts';
export { Drain } from './leadership/drain.ts';
export { storeOfGuard } from './leadership/leader-record.ts';
export { electionOptions } from './member/election-options.ts';
export { electionKeys, groupKey, type ElectionKeys } from './protocol/keys.ts';
export { checkGroupRecordSize, checkRecordSize } from './protocol/record-size.ts';
export { MAX_VALUE_DEPTH } from './base/json.ts';
export { checkSuccessionOption, PRIORITY_RANGE, writeName } from './protocol/succession.ts';
export { checkFloor, MAX_ADMITTED, MAX_FLOOR, MAX_TERM, reportStaleTerm } from './protocol/terms.ts';
export { payloadCodec } from './protocol/value-codec.ts';
export {
  checkCall,
  checkChanges,
  checkDuration,
  checkEntryKey,
  checkListing,
  checkLook,
  checkPath,
  checkStore,
  checkTtl,
  DEFAULT_CALL_TIMEOUT_MS,
  describeStore,
  isPath,
  isRedisClient,
  isStore,
  nameOfKey,
  PATH_RULE,
  partOfList,
  withoutValue,
  type ListPart,
  type NewEntry,
} from './store/checks.ts';
export { endByDefault, onStopSignal, type StopSignalContext } from './member/stop-signals.ts';
export { loadRevoker, moduleBeside } from './store/modules.ts';
export { hasEnded, parseStat, processSpace, type ProcessFiles, type ProcessStat } from './store/process.ts';
export { watchStates, type WatchController } from './store/watch-iterator.ts';
export { isUrl, urlText } from './store/url.ts';
