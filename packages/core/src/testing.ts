/** For those who test: a process's clock that can be stopped, and chance that repeats itself. */

export { PausableClock } from './testing/pausable-clock.ts';
export { seeded } from './testing/seeded-random.ts';
