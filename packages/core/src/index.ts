export type { CampaignOptions, CandidateView, ElectionOptions } from './member/election.ts';
export type { Cancel, Clock, Moment } from './base/clock.ts';
export type { ElectionView, LeaderView, ObserverCallOptions, ObserverOptions, UnknownView } from './observer/observer.ts';
export type { ErrorCode, ErrorDetails, IncumbentErrorOptions, Outcome, StoreErrorCode } from './base/errors.ts';
export type { FenceOptions } from './leadership/fence.ts';
export type { GroupCallOptions, GroupMember, GroupOptions } from './member/group.ts';
export type { ElectionState, OperatorCallOptions, OperatorOptions } from './observer/admin.ts';
export type { InvalidInput, NumberRange } from './base/validate.ts';
export type { LeaderCallOptions } from './leadership/leadership.ts';
export type { LeadershipEnd, LeadershipEndReason } from './leadership/release-machine.ts';
export type { Logger, TelemetryEvent } from './base/telemetry.ts';
export type { MemberOptions, ShutdownOptions } from './member/member.ts';
export type { OnDuplicate } from './lease/member-key.ts';
export type { ReapedMember, Reaper, ReaperSeat, LeaseTimes, WatchedLease } from './lease/reaper.ts';
export type { Random } from './base/random.ts';
export type { SessionEnd, SessionEndReason } from './lease/session.ts';
export type { VacancyReason, VacantView } from './observer/leader-state.ts';
export type { StandardSchema, ValueCodec, ValueOptions } from './protocol/value-codec.ts';
export type { Candidate, Succession, SuccessionOptions } from './protocol/succession.ts';
export type { Timing, TimingOptions } from './lease/timing.ts';
export type {
  CallOptions,
  Change,
  Entry,
  Key,
  Lease,
  LeaseId,
  LeaseOptions,
  ListOptions,
  OpenRevoker,
  ReadOptions,
  Renewal,
  Revision,
  Revocation,
  Revoker,
  Store,
  StoreCapabilities,
  StoreReport,
  SwapResult,
  KeyWatchOptions,
  WatchOptions,
} from './store/contract.ts';

export { Election } from './member/election.ts';
export { ElectionObserver } from './observer/observer.ts';
export { ElectionOperator, listElections } from './observer/admin.ts';
export { Fence } from './leadership/fence.ts';
export { Group } from './member/group.ts';
export { longestDrainMs } from './lease/timing.ts';
export { IncumbentError, isIncumbentError, isPassing, outcomeOf, StoreError } from './base/errors.ts';
export { Leadership } from './leadership/leadership.ts';
export { Member } from './member/member.ts';
export { byMemberId, byPriority, firstComeFirstServed, rendezvous } from './protocol/succession.ts';
export { checkFunction, checkKnown, checkName, checkNumber, checkOneOf, invalidOption } from './base/validate.ts';
export { systemClock } from './base/clock.ts';
export { systemRandom } from './base/random.ts';
