/** `@incumbent/core/testing`: a clock that can be paused, and seeded random numbers. */

export { PausableClock } from './testing/pausable-clock.ts';
export { seeded } from './testing/seeded-random.ts';
