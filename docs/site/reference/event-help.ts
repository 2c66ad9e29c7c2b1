/**
 * What each event means and what to do. The type makes a new event without an entry a compile
 * error. `pnpm reference` writes docs/reference/events.md from this table.
 */

import type { TelemetryEvent } from '@incumbent/core';

/** The entry of one event. All texts are Markdown sentences. */
export interface EventHelp {
  readonly meaning: string;
  readonly remedy: string;
  /** The fields besides those that every event has. */
  readonly fields: string;
}

export const events: Readonly<Record<TelemetryEvent, EventHelp>> = {
  sessionOpened: {
    meaning:
      'The store granted a lease to this member. The member may still wait for another process ' +
      'that holds its id: see [`duplicateMember`](#duplicatemember).',
    remedy: 'None.',
    fields:
      '`lease`, `ttlMs`, `expiresWithinMs` (how long the store may keep the lease after the last ' +
      'renewal), `validForMs`',
  },
  sessionReopened: {
    meaning: 'The store granted another lease to this member, after its last session had ended.',
    remedy: 'None. It takes part in its elections and groups again.',
    fields: '`lease`',
  },
  sessionRenewed: {
    meaning: 'The store acknowledged a renewal.',
    remedy: 'None. A growing `tookMs` warns of a slow store.',
    fields: '`lease`, `tookMs`, `validForMs`',
  },
  sessionSuspect: {
    meaning: 'A renewal is overdue, and the deadline has not come.',
    remedy: 'Check the store and the network. If it happens often, raise `ttlMs`.',
    fields: '`lease`, `remainingMs`, `error`',
  },
  sessionRecovered: {
    meaning: 'Renewals are acknowledged again before the deadline.',
    remedy: 'None.',
    fields: '`lease`',
  },
  sessionKept: {
    meaning:
      'The event loop was blocked past the deadline. The renewer has kept the lease, so no ' +
      'leadership ended.',
    remedy: 'Find what blocks the event loop.',
    fields: '`lease`, `validForMs`',
  },
  sessionEnded: {
    meaning: 'The lease of this member has ended. All leaderships on it have ended, too.',
    remedy: 'See [Why a leadership ends](#why-a-leadership-ends) for the reason.',
    fields: '`lease`, `reason`, `lastRenewalAt`, `sinceRenewalMs`, `loopBlockedMs`, `errors`',
  },
  memberClosed: {
    meaning: 'The member has closed. Work that was reported as `stuck` may still run.',
    remedy: 'None.',
    fields: 'none',
  },
  loopLag: {
    meaning: 'The event loop was blocked for longer than a tenth of the ttl.',
    remedy:
      'Move synchronous work to a worker thread ([What blocks the event ' +
      'loop](../operations.md#what-blocks-the-event-loop)).',
    fields:
      '`blockedMs`; `skipped`: how often it happened without a line in the log, which a member ' +
      'writes once a minute at most',
  },
  duplicateMember: {
    meaning: 'Another process holds the id of this member.',
    remedy:
      'Expected for a moment after a restart with the same id. Otherwise give each process an ' +
      'id of its own.',
    fields:
      '`key`, `onDuplicate`; `host` and `startedAt` (ms since the epoch) of the other process, ' +
      'if it has given them; `longestWaitMs`: how long this member waits for its lease to end',
  },
  joined: {
    meaning: 'This member has an entry in the queue of an election.',
    remedy: 'None.',
    fields: '`election`, `key`',
  },
  left: {
    meaning: 'This candidate has left the queue of an election, and was not elected.',
    remedy:
      'None if `why` is `stopped` (its caller gave up, or did not want to wait) or `sessionLost` ' +
      '(it joins again). `removed` and `orphaned`: somebody deleted its entry, and it joins ' +
      'again. `failed`: the campaign has ended with `error`; `lead` rejects, and this member is ' +
      'no candidate any more.',
    fields: '`election`, `key`, `why`, `error`',
  },
  waiting: {
    meaning: 'This candidate waits behind another one.',
    remedy: 'None.',
    fields: '`election`, `behind`',
  },
  notified: {
    meaning:
      'A waiting candidate has seen the first news that may elect it: the entry ahead or the ' +
      "leader's record is gone, the term has ended, a handover or an operator has changed its " +
      'entry, or those ahead have not claimed in time.',
    remedy: 'None.',
    fields:
      '`election`, `behind`, `why` (`aheadGone`, `termEnded`, `leaderGone`, `handedOver` or ' +
      '`claimTimedOut`), `waitedMs`: how long the timeout has lasted',
  },
  claimed: {
    meaning: 'The store has answered a claim, or the claim has failed.',
    remedy: 'None.',
    fields:
      '`election`, `term`, `endedTerm` (the last term issued before), `outcome` (`elected`, ' +
      '`refused`, `unknown` or `failed`), `tookMs`',
  },
  termWentBack: {
    meaning:
      'The store has lost terms: its last term is lower than one that this member has seen, or ' +
      'there is none. This member is elected with a term above both. A member that has not seen ' +
      'the lost terms may issue them again.',
    remedy:
      'Find out whether the store was wiped or restored, or whether somebody deleted the key ' +
      '`term`. Raise [`minTerm`](../operations.md#restoring-a-backup-of-the-store) if a fence ' +
      'refuses the leaders.',
    fields: '`election`, `storedTerm` (0 if there is none), `seenTerm`',
  },
  elected: {
    meaning: 'This member was elected.',
    remedy: 'None.',
    fields:
      '`election`, `term`, `lease`, and how the term before ended: `previousTerm`, ' +
      '`previousMember`, `previousReason`; without a store `term` and `round`',
  },
  workStarted: {
    meaning: 'The work of `lead` is about to start, or `campaign` has resolved.',
    remedy: 'None.',
    fields: '`election`, `term`',
  },
  ended: {
    meaning: 'A leadership of this member has ended. `why` is a sentence about the cause.',
    remedy:
      'None if `lost` is false. Otherwise see [Why a leadership ends](#why-a-leadership-ends).',
    fields:
      '`election`, `term`, `reason`, `lost`, `why`, `lastRenewalAt`, `sinceRenewalMs`, ' +
      '`loopBlockedMs`, `errors`, `drainMs`, `abortMs` (how long the listeners of the signal ran)',
  },
  drained: {
    meaning: 'The work of a leadership that has ended has stopped, or the drain is over.',
    remedy: 'None.',
    fields: '`election`, `term`, `stopped`',
  },
  released: {
    meaning: 'The store holds nothing of that term any more.',
    remedy: 'None.',
    fields: '`election`, `term`',
  },
  stuck: {
    meaning:
      'The work did not stop within `drainMs` after its leadership ended. It may still run ' +
      'while another member leads.',
    remedy:
      'Pass `leadership.signal` to everything that the work awaits. Restart the process if the ' +
      'work never stops.',
    fields: '`election`, `term`',
  },
  unstuck: {
    meaning: 'Work that was stuck has stopped. The member can campaign again.',
    remedy: 'None.',
    fields: '`election`, `term`',
  },
  workFailed: {
    meaning:
      'The work of `lead` or `tryLead` failed, and the call does not reject with its error. The ' +
      'member resigned because `retry` accepts the error, or the leadership had ended before: it ' +
      'was lost, the signal of the call aborted, or the member closed. `campaignsAgain` is true ' +
      'if the call goes on. An `AbortError` after the end is no failure, nor is the reason of a ' +
      'signal that has aborted.',
    remedy:
      'Read `error`. After a store error whose outcome is unknown, the next work must read ' +
      'before it writes.',
    fields: '`election`, `term`, `error`, `campaignsAgain`',
  },
  evicted: {
    meaning: 'This candidate passed over candidates that did not claim in time.',
    remedy:
      'Check the processes that are named in `keys`: they hang, or a former call of them was ' +
      'applied late.',
    fields: '`election`, `keys`',
  },
  retry: {
    meaning:
      'A call to the store failed, and the member tries it again. `doing` says which step it was.',
    remedy: 'None for single events. Many of them mean that the store is slow or away.',
    fields:
      '`doing`, `error`; `skipped`: how many more calls failed in this step without a line in ' +
      'the log, which a member writes once a minute at most for each step',
  },
  watchStale: {
    meaning: 'A watch cannot vouch for its last state, and reads it anew.',
    remedy: 'None for single events.',
    fields: '`key` or `group`, `cause`',
  },
  foreignData: {
    meaning: 'A key of the SDK holds data that this process cannot read.',
    remedy:
      'Read `error`. If another program wrote the key, remove it, and give each application a ' +
      'namespace of its own. If `parse` or `codec` refused the value, its `cause` says why.',
    fields: '`group`, `key`, `error`',
  },
  groupLeft: {
    meaning:
      'This member is no longer in its group, and fails to join it again, with an error that a ' +
      'retry alone does not solve. It goes on trying, at least every 30 s, unless another ' +
      'process has taken its id (`DUPLICATE_MEMBER`).',
    remedy: 'Read `error`, and correct its cause.',
    fields: '`group`, `error`',
  },
  groupRejoined: {
    meaning: 'This member is in its group again, after `groupLeft`.',
    remedy: 'None.',
    fields: '`group`',
  },
  rebalanced: {
    meaning: 'The leader handed over to a candidate that the succession prefers.',
    remedy: 'None.',
    fields: '`election`, `term`, `to`',
  },
  handoverRequested: {
    meaning: 'An operator asks this leader to hand over.',
    remedy: 'None: the leader hands over by itself.',
    fields: '`election`, `term`, `to`',
  },
  subscriberFailed: {
    meaning:
      'A subscriber, or `onElected`, `onEnded` or `retry`, threw an error. Elections are not ' +
      'affected, but `lead` rejects with the error of its work if `retry` throws.',
    remedy: 'Correct the callback.',
    fields: '`election` or `group`, `error`',
  },
  storeEndsEarly: {
    meaning:
      'This store may end a lease that is being renewed. Two members may then consider ' +
      'themselves leader for a moment.',
    remedy:
      'Make every write conditional on the term: `leadership.swap` in the store, a ' +
      '[fence](../guide/fencing.md) elsewhere. If a newer server helps, `why` says so.',
    fields: '`store`, `why`',
  },
  reaperReady: {
    meaning: 'The reaper runs. If this process dies, its leases end at once.',
    remedy: 'None.',
    fields: '`pid`',
  },
  reaperLost: {
    meaning: 'There is no reaper now. If this process dies, its leases end only after their ttl.',
    remedy: 'None for single events: the reaper is started again. Otherwise read the fields.',
    fields: 'what happened to the reaper',
  },
  renewerReady: {
    meaning:
      "The worker of `renewIn: 'worker'` runs. It renews the leases while the event loop is " +
      'blocked.',
    remedy: 'None.',
    fields: '`thread`',
  },
  renewerLost: {
    meaning:
      "There is no worker of `renewIn: 'worker'` now. A blocked event loop ends leaderships.",
    remedy: 'None for single events: the worker is started again. Otherwise read the fields.',
    fields: 'what happened to the worker',
  },
  observed: {
    meaning: 'An `ElectionObserver` in this process begins or closes, or sees a new state.',
    remedy: 'None.',
    fields:
      '`state`: `opened`, `leader`, `vacant`, `unknown` or `closed`; `term`; with `leader` and ' +
      '`vacant`, the `reason` of the view, if it has one; with `leader`, `previous`',
  },
  messageRefused: {
    meaning: 'Without a store: a message of another member was refused.',
    remedy: 'Compare the members, the timeouts and the algorithm of all members.',
    fields: '`reason` and the facts about the message',
  },
  connectionRefused: {
    meaning: 'Without a store: a connection, or data on it, was refused.',
    remedy:
      'Compare the secrets, certificates and ids of the members. `reason` says which of them ' +
      'is wrong.',
    fields: '`reason` and the facts about the connection',
  },
  peerConnected: {
    meaning: 'Without a store: this member is connected with another one.',
    remedy: 'None.',
    fields: '`with`',
  },
  peerDisconnected: {
    meaning: 'Without a store: the connection with another member has ended.',
    remedy: 'None if that member restarts.',
    fields: '`with`, `why`',
  },
  peerFailed: {
    meaning: 'Without a store: this member has ended, because it cannot continue safely.',
    remedy: 'Read `reason`, repair the cause, and restart the process.',
    fields: '`reason`, `error`',
  },
  peerConflict: {
    meaning: 'Without a store: members contradict each other.',
    remedy:
      'Look for two members with one id, a cloned member, or a vote that was restored from a ' +
      'backup.',
    fields: '`code` and the facts about the conflict',
  },
  membersChanged: {
    meaning:
      'Without a store: the list of members differs from the list in which this member last voted.',
    remedy: 'Give all members the same list.',
    fields: '`former`, `members`',
  },
  storageSlow: {
    meaning:
      'Without a store: the storage has not answered for a second. Until it answers, this member ' +
      'does not vote, and is not elected.',
    remedy:
      'Check the disk, or the network file system, that holds the vote file, and whether this ' +
      'process stood still meanwhile.',
    fields: '`doing` (`load` or `save`), `forMs`',
  },
  seedsFailed: {
    meaning: 'Without a store: the seeds could not be found. The member asks again.',
    remedy: 'Check the name service. A `seeds` function must answer within 10 s.',
    fields: '`error`',
  },
};
