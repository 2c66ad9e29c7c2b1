export type { CampaignOptions, CandidateView, ElectionOptions } from './election.ts';
export type { Cancel, Clock, Moment } from './clock.ts';
export type { ElectionView, LeaderView, ObserverCallOptions, ObserverOptions, UnknownView } from './observer.ts';
export type { ErrorCode, ErrorDetails, IncumbentErrorOptions, Outcome, StoreErrorCode } from './errors.ts';
export type { FenceOptions } from './fence.ts';
export type { GroupCallOptions, GroupMember, GroupOptions } from './group.ts';
export type { ElectionState, OperatorCallOptions, OperatorOptions } from './operator.ts';
export type { InvalidInput, NumberRange } from './options.ts';
export type { LeaderCallOptions } from './leadership.ts';
export type { LeadershipEnd, LeadershipEndReason } from './tenure.ts';
export type { Logger, TelemetryEvent } from './telemetry.ts';
export type { MemberOptions, ShutdownOptions } from './member.ts';
export type { OnDuplicate } from './registration.ts';
export type { ReapedMember, Reaper, ReaperSeat, LeaseTimes, WatchedLease } from './reaper.ts';
export type { Random } from './random.ts';
export type { SessionEnd, SessionEndReason } from './session.ts';
export type { VacancyReason, VacantView } from './sight.ts';
export type { StandardSchema, ValueCodec, ValueOptions } from './codec.ts';
export type { Candidate, Succession, SuccessionOptions } from './succession.ts';
export type { Timing, TimingOptions } from './timing.ts';
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
} from './store.ts';

export { Election } from './election.ts';
export { ElectionObserver } from './observer.ts';
export { ElectionOperator, listElections } from './operator.ts';
export { Fence } from './fence.ts';
export { Group } from './group.ts';
export { longestDrainMs } from './timing.ts';
export { IncumbentError, isIncumbentError, isPassing, outcomeOf, StoreError } from './errors.ts';
export { Leadership } from './leadership.ts';
export { Member } from './member.ts';
export { byMemberId, byPriority, firstComeFirstServed, rendezvous } from './succession.ts';
export { checkFunction, checkKnown, checkName, checkNumber, checkOneOf, invalidOption } from './options.ts';
export { systemClock } from './clock.ts';
export { systemRandom } from './random.ts';
