export { fuzz, type Fuzzed, type FuzzOptions } from './fuzz.ts';
export { framesTarget } from './frames.ts';
export { findTargets, mayRefuse, targetsIn, type FoundTarget, type FuzzTarget } from './target.ts';
