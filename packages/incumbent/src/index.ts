export * from '@incumbent/core';
export { Member, type MemberOptions } from './member.ts';
export { openStore, type OpenStoreOptions } from './open-store.ts';
export { groupIsGone, reaper, type ProcessReaper } from '@incumbent/reaper';
