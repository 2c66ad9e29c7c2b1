/**
 * `@incumbent/core/testing`: a clock that can be paused, sleep by a clock, and seeded random
 * numbers.
 */

export { sleep } from './async/sleep.ts';
export { PausableClock } from './testing/pausable-clock.ts';
export { seeded } from './testing/seeded-random.ts';
