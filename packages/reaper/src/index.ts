export type { ProcessReaper } from './member/reaper-handle.ts';
export { groupIsGone } from './death.ts';
export { reaper } from './member/reaper-handle.ts';
