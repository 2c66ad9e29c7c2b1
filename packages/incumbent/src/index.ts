export * from '@incumbent/core';
export { lead, type LeadUrlOptions } from './lead.ts';
export { Member, type MemberOptions } from './member.ts';
export { ElectionObserver, StoredValueObserver } from './observers.ts';
export { openStore, type OpenStoreOptions, type StoreOpener } from './open-store.ts';
export { SlotElection, type SlotLeadership, type SlotOptions } from './slots.ts';
export { withLock, type Lock, type LockOptions } from './with-lock.ts';
export { groupIsGone, reaper, type ProcessReaper } from '@incumbent/reaper';
