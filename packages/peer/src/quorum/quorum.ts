/**
 * Elects at most one leader per term, by the recorded votes of a majority. (Raft: Ongaro and
 * Ousterhout, "In search of an understandable consensus algorithm", 2014, sections 5.2 and 5.4.1;
 * Ongaro's dissertation, sections 3.10, 6.4.1 and 9.6. The lease: Gray and Cheriton, SOSP 1989.)
 *
 * No two leaderships are valid at one instant, as long as the error of every clock's rate is within
 * the limit that the members agreed on. A leadership is valid for a fixed time from the sending of
 * a round of heartbeats that a majority has answered, and a member that has answered votes for
 * nobody during that time.
 */

import { IncumbentError } from '@incumbent/core';
import type { Algorithm, Validity, Command, Input, PeerView, Start, Step } from '../algorithm.ts';
import { handleInput } from '../input.ts';
import { campaign, onPollAnswer, onVoteGranted } from './candidate.ts';
import { onHandover, onHeartbeat, onResigned } from './follower.ts';
import { beat, validityOf, end, endIfOver, onHeartbeatAnswer, stepDown } from './leader.ts';
import { isPlausible, readMessage, readVote, type QuorumMessage, type Vote } from './message.ts';
import { majorityOf, resolveRules, type QuorumOptions, type Rules } from './options.ts';
import { mayVote } from './promise.ts';
import type { QuorumState } from './state.ts';
import { StepContext } from './step-context.ts';
import { successorOf, whyNoSuccessor } from './successor.ts';
import { onPreVote, onVote } from './voter.ts';

/** An algorithm that elects at most one leader per term. It persists a {@link Vote}. */
export type QuorumAlgorithm = Algorithm<'quorum', QuorumState, QuorumMessage, Vote>;

/**
 * Creates the algorithm. All members of a group must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for a member id.
 */
export function quorum(options: QuorumOptions): QuorumAlgorithm {
  const rules = resolveRules(options);
  return {
    name: 'quorum',
    safety: 'quorum',
    members: rules.members,
    configuration: rules.configuration,
    persists: true,
    start: (begin) => start(rules, begin),
    step: (state, input) => takeStep(rules, state, input),
    validity: (state): Validity<'quorum'> | undefined => validityOf(rules, state),
    view,
    highestTerm: ({ term }): bigint => term,
    successor: (state, to) => successorOf(rules, state, to),
    whyNoSuccessor: (state, to) => whyNoSuccessor(rules, state, to),
    // Of two messages of one type, the later one has a term, a poll or a round that is no older, or
    // answers a question that is no older.
    sortOf: ({ type }): string => type,
    readMessage,
    readDurable: readVote,
    formerMembers: ({ members }) => members,
  };
}

function start({ members, electionTimeoutMinMs, electionTimeoutMaxMs }: Rules, { memberId, now, seed, durable }: Start<Vote>): QuorumState {
  if (durable !== undefined && durable.memberId !== memberId)
    throw new IncumbentError('FOREIGN_DATA', `this is the vote of the member "${durable.memberId}", not of "${memberId}"`);
  checkFormer(durable?.members ?? members, members);
  const promiseMs = durable?.promiseMs ?? 0;
  // Before its start, the member may have made a promise by the longer timeouts of that time.
  const holdUntilMs = now.monotonicMs + Math.max(electionTimeoutMaxMs, promiseMs);
  return {
    memberId,
    term: durable?.term ?? 0n,
    votedFor: durable?.votedFor,
    promiseMs,
    role: { kind: 'following', leader: undefined },
    standing: false,
    ledTerm: 0n,
    holdUntilMs,
    promisedUntilMs: now.monotonicMs,
    // Members that start at the same time do not campaign at the same time.
    electionAtMs: holdUntilMs + (seed / 2 ** 32) * (electionTimeoutMaxMs - electionTimeoutMinMs),
    wakeAtMs: undefined,
    polls: 0,
    seed,
  };
}

/**
 * Throws `MEMBERS_CHANGED` if a majority of the former members and one of the present members may
 * have no member in common. Then both could elect a leader of one term, although each member votes
 * once.
 */
function checkFormer(former: readonly string[], members: readonly string[]): void {
  const all = new Set([...former, ...members]);
  const isSame = former.length === all.size && members.length === all.size;
  if (isSame || majorityOf(former) + majorityOf(members) > all.size) return;
  throw new IncumbentError(
    'MEMBERS_CHANGED',
    `this member voted among ${former.join(', ')}, and is to vote among ${members.join(', ')}: a majority of the one list may have ` +
      'nobody in common with one of the other, so two could lead in one term. Add or remove one member at a time, and let a leader be elected in between. ' +
      'If the list changed in such steps while this member was down, remove its vote file, but only after this process has been stopped for ' +
      'longer than the longest election timeout and the other members have then elected a leader, and never on a majority of the members at once',
    { details: { former, members } },
  );
}

function takeStep(rules: Rules, state: QuorumState, input: Input<QuorumMessage>): Step<QuorumState, QuorumMessage, Vote> {
  const step = new StepContext(rules, state, input);
  endIfOver(step);
  handleInput(step, input, { onTick, onMessage, onCommand });
  return step.done();
}

function onTick(step: StepContext): void {
  const { role, standing, electionAtMs } = step.state;
  if (role.kind === 'leading') {
    if (step.nowMs >= role.heartbeatAtMs) beat(step);
  } else if (step.nowMs >= electionAtMs) {
    if (standing) campaign(step);
    else step.set({ role: { kind: 'following', leader: undefined } });
  }
}

/**
 * A member learns of a new term from the first message that carries it, except from a request for
 * a vote that it refuses because of a leader.
 */
function onMessage(step: StepContext, from: string, message: QuorumMessage): void {
  const isRequest = message.type === 'vote' || message.type === 'preVote';
  if (!isPlausible(message.term, step.state.term)) return step.conflict({ code: 'TERM_TOO_HIGH', from, term: message.term });
  if (message.term < step.state.term) return answerStale(step, from, message);
  if (message.term > step.state.term && (!isRequest || (message.type === 'preVote' && mayVote(step)))) stepDown(step, message.term);
  return onCurrent(step, from, message);
}

/**
 * Informs the sender of an older term about the newer one. An answer from an older term needs no
 * reply.
 */
function answerStale(step: StepContext, from: string, { type }: QuorumMessage): void {
  if (type === 'preVoteAnswer' || type === 'voteAnswer' || type === 'heartbeatAnswer' || type === 'stale') return;
  step.send(from, { type: 'stale', term: step.state.term });
}

function onCurrent(step: StepContext, from: string, message: QuorumMessage): void {
  switch (message.type) {
    case 'preVote':
      return onPreVote(step, from, message);
    case 'preVoteAnswer':
      return onPollAnswer(step, from, message);
    case 'vote':
      return onVote(step, from, message);
    case 'voteAnswer':
      return message.granted ? onVoteGranted(step, from) : undefined;
    case 'heartbeat':
      return onHeartbeat(step, from, message);
    case 'heartbeatAnswer':
      return onHeartbeatAnswer(step, from, message);
    case 'handover':
      return onHandover(step, from);
    case 'resigned':
      return onResigned(step, from);
    case 'stale':
      return undefined;
    default:
      return message satisfies never;
  }
}

function onCommand(step: StepContext, command: Command): void {
  switch (command.type) {
    case 'campaign':
      return step.set({ standing: true });
    case 'withdraw':
      return withdraw(step);
    case 'end':
      return end(step, command.reason);
    case 'seen':
      return command.term > step.state.term ? stepDown(step, command.term) : undefined;
    case 'release':
      return release(step, command.to);
    case 'seeds':
    case 'leave':
      return undefined;
    default:
      return command satisfies never;
  }
}

/**
 * Ends the campaign. Ends a leadership too, if the application has not been informed of it yet;
 * otherwise the application ends it.
 */
function withdraw(step: StepContext): void {
  const { role } = step.state;
  step.set({ standing: false });
  if (role.kind === 'leading' && role.vouched === undefined) end(step, 'resigned');
  else if (role.kind === 'polling' || role.kind === 'voting') step.set({ role: { kind: 'following', leader: undefined } });
}

/**
 * Informs the other members that this member's latest leadership is over. That stays true forever.
 * If this member knows a newer term, for example from a fence, it informs them of that term next,
 * so that they elect a leader of a term above it. It then hands over to nobody: a successor would
 * campaign in the term after its leadership.
 */
function release(step: StepContext, to: string | undefined): void {
  const { term, ledTerm, role } = step.state;
  if (role.kind === 'leading') return;
  if (to !== undefined && ledTerm === term) return step.send(to, { type: 'handover', term });
  step.broadcast({ type: 'resigned', term: ledTerm });
  if (ledTerm < term) step.broadcast({ type: 'stale', term });
}

function view({ memberId, term, role }: QuorumState): PeerView<'quorum'> {
  if (role.kind === 'leading' && role.vouched !== undefined) return { state: 'leader', memberId, term, round: undefined };
  if (role.kind === 'following' && role.leader !== undefined) return { state: 'leader', memberId: role.leader, term, round: undefined };
  return { state: 'unknown' };
}
