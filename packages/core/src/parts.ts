/** For the authors of elections on something other than a store, as `@incumbent/core/parts`: what a leadership is made of, wherever it comes from. */

export { Backoff } from './backoff.ts';
export { checkLogger } from './dependencies.ts';
export { checkFloor } from './terms.ts';
export { Deadline } from './deadline.ts';
export { checkSignal } from './options.ts';
export { Drain } from './drain.ts';
export { held, sleep } from './waits.ts';
export { Latest } from './latest.ts';
export { marginRatio } from './timing.ts';
export { momentOf } from './clock.ts';
export { onAbort, orAborted } from './signals.ts';
export { Telemetry } from './telemetry.ts';
