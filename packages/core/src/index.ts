/** What users import: members, elections, leaderships, groups, observers and the store contract. */

export { systemClock } from './base/clock.ts';
export type { Cancel, Clock, Moment } from './base/clock.ts';
export { IncumbentError, isIncumbentError, isRetryable, outcomeOf, StoreError } from './base/errors.ts';
export type {
  ErrorCode,
  IncumbentErrorArguments,
  IncumbentErrorOf,
  IncumbentErrorOptions,
  Outcome,
  StoreErrorCode,
} from './base/errors.ts';
export type {
  DetailsByCode,
  DuplicateDetails,
  ErrorDetails,
  LeadershipEndDetails,
  NoDetails,
  StoreErrorDetails,
} from './base/error-details.ts';
export { systemRandom } from './base/random.ts';
export type { Random } from './base/random.ts';
export type { Logger, RetryActivity, TelemetryEvent } from './base/telemetry.ts';
export type { InvalidInput } from './base/validate.ts';
export type { SignalOptions } from './async/abort.ts';
export { sleep } from './async/sleep.ts';
export type * from './store/contract.ts';
export type * from './store/revoker.ts';
export type * from './store/report.ts';
export { byMemberId, byPriority, byVersion, firstComeFirstServed, rendezvous } from './protocol/succession.ts';
export type { Candidate, Succession, SuccessionOptions } from './protocol/succession.ts';
export type { StandardSchema, ValueCodec, ValueOptions } from './protocol/value-codec.ts';
export type { OnDuplicate } from './lease/member-key.ts';
export type { LeaseTimes, ReapedMember, Reaper, ReaperMemberHandle, WatchedLease } from './lease/reaper.ts';
export type { RenewedLease, RenewedMember, Renewer, RenewerMemberHandle } from './lease/renewer.ts';
export type { SessionEnd, SessionEndReason } from './lease/session.ts';
export type { Timing, TimingOptions } from './lease/timing.ts';
export { Fence } from './leadership/fence.ts';
export type { FenceOptions } from './leadership/fence.ts';
export { Leadership } from './leadership/leadership.ts';
export type { LeadershipEnd, LeadershipEndReason } from './leadership/release-machine.ts';
export type { StoredValue } from './leadership/stored-value.ts';
export { ElectionAdmin, listElections } from './observer/admin.ts';
export type { ElectionState, ElectionAdminOptions } from './observer/admin.ts';
export type { GroupMember } from './observer/group-reader.ts';
export type { PreviousTerm, TermEndReason, VacancyReason, VacantView } from './observer/leader-state.ts';
export { ElectionObserver } from './observer/observer.ts';
export type { CandidateView, ElectionView, LeaderView, ObserverOptions, UnknownView } from './observer/observer.ts';
export { StoredValueObserver } from './observer/stored-value-observer.ts';
export type { KnownValueView, StoredValueObserverOptions, StoredValueView, UnknownValueView } from './observer/stored-value-observer.ts';
export { Election } from './member/election.ts';
export type { ElectionOptions } from './member/election-options.ts';
export type { LeadOptions } from './member/lead.ts';
export { Group } from './member/group.ts';
export type { GroupOptions } from './member/group.ts';
export { Member } from './member/member.ts';
export type { MemberOptions, ShutdownOptions } from './member/member.ts';
export type { StopSignal } from './member/stop-signals.ts';
