/** For simulations of something else than elections over a store, as `@incumbent/simulator/time`: what happens when, by whose clock, by what chance. */

export { hashOf, Stream, streamOf } from './random.ts';
export { Livelock, Scheduler } from './scheduler.ts';
export { type ProcessOptions, type RunState, SimProcess } from './process.ts';
export { Trace } from './trace.ts';
export { guarded } from './forbid-globals.ts';
