export type { ProcessReaper } from './reaper.ts';
export { groupIsGone } from './groups.ts';
export { reaper } from './reaper.ts';
