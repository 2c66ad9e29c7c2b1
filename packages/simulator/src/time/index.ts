/**
 * `@incumbent/simulator/time`: the scheduler, simulated processes and random streams, for
 * simulations of anything other than elections over a store.
 */

export { hashOf, Stream, streamOf } from './random.ts';
export { Livelock, Scheduler } from './scheduler.ts';
export { type ProcessOptions, type RunState, SimProcess } from './process.ts';
export { Trace } from './trace.ts';
export { guarded } from './forbid-globals.ts';
