/** For the authors of elections on something other than a store, as `@incumbent/core/parts`: what a leadership is made of, wherever it comes from. */

export { Backoff } from './async/backoff.ts';
export { checkLogger } from './store/dependencies.ts';
export { checkFloor } from './protocol/terms.ts';
export { Deadline } from './lease/deadline.ts';
export { checkSignal } from './base/validate.ts';
export { Drain } from './leadership/drain.ts';
export { held, sleep } from './async/sleep.ts';
export { Latest } from './async/value-stream.ts';
export { marginRatio } from './lease/timing.ts';
export { momentOf } from './base/clock.ts';
export { onAbort, orAborted } from './async/abort.ts';
export { Telemetry } from './base/telemetry.ts';
