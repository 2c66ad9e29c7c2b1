export { fuzz, type Fuzzed, type FuzzOptions } from './fuzz.ts';
export { findTargets, targetsIn, type FoundTarget, type FuzzTarget } from './target.ts';
