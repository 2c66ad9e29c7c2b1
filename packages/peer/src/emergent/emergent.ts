/**
 * The oldest member that campaigns coordinates and leads. There is no vote: all members know the
 * same order. (The emergent leader of peer-to-peer systems, as in JGroups, Akka and Hazelcast;
 * Joshi, "Patterns of Distributed Systems", 2023.) A new member finds the cluster through seeds.
 * The coordinator keeps the list of members; it alone adds and removes members, and sends each new
 * version to all. When the coordinator fails, the next oldest member takes over.
 *
 * Best effort: under a partition, each side has a coordinator of its own, and both may lead. After
 * the partition, the smaller side joins the larger one.
 */

import type { Algorithm, Validity, Command, Input, PeerView, Start, Step } from '../algorithm.ts';
import { handleInput } from '../input.ts';
import { claimIfNext, conclude, onAnswer, onAsk } from './claim.ts';
import { beat, onCurrent, onHeartbeat, onMissed, onPull, onRemoved, onUpdate } from './follower.ts';
import { onAttempt, onJoinElsewhere, onSeeds, onSought, onWaiting } from './joiner.ts';
import { onAck, onJoin, onLeave, onAckTimeout, transferTo, review, takeLeave } from './coordinator.ts';
import { endBy, endIfOver, settleLeadership } from './lead.ts';
import { onInvite, onMerge, onProbe, onStranger, searchIfDue } from './merge.ts';
import { readMessage, type EmergentMessage } from './message.ts';
import { resolveRules, type EmergentOptions, type Rules } from './options.ts';
import { falseVersionOf } from './plausible.ts';
import type { EmergentState } from './state.ts';
import { StepContext } from './step-context.ts';
import { validityOf, viewOf } from './view.ts';
import { ignorePause, isSuspect } from './watch.ts';

/** A best-effort algorithm with an open membership. It persists nothing. */
export type EmergentAlgorithm = Algorithm<'bestEffort', EmergentState, EmergentMessage, never>;

/**
 * Creates the algorithm. All members of a cluster must use the same options.
 * @throws `INVALID_OPTION`, or `INVALID_NAME` for the cluster's name.
 */
export function emergent(options: EmergentOptions): EmergentAlgorithm {
  const rules = resolveRules(options);
  return {
    name: 'emergent',
    safety: 'bestEffort',
    members: 'open',
    configuration: rules.configuration,
    persists: false,
    start,
    step: (state, input) => takeStep(rules, state, input),
    validity: (state): Validity<'bestEffort'> | undefined => validityOf(rules, state),
    view: (state): PeerView<'bestEffort'> => viewOf(rules, state),
    highestTerm: () => undefined,
    successor: (state, to) => successorOf(rules, state, to),
    whyNoSuccessor: (state, to) => whyNoSuccessor(state, to),
    sortOf: ({ type }): string => type,
    readMessage,
    readDurable: () => {
      throw new TypeError('an emergent leader persists nothing');
    },
  };
}

function start({ memberId, now, seed }: Start<never>): EmergentState {
  return {
    memberId,
    address: '',
    seeds: [],
    incarnation: 0,
    phase: { kind: 'waiting' },
    standing: false,
    leading: undefined,
    ledRound: 0,
    keepUntilMs: now.monotonicMs,
    keepOnMs: 0,
    beatAt: now,
    beatAtMs: now.monotonicMs,
    pullAtMs: now.monotonicMs,
    searchAtMs: now.monotonicMs,
    search: 0,
    strangers: [],
    lostAtMs: now.monotonicMs,
    claims: 0,
    seenVersion: 0,
    stepAtMs: now.monotonicMs,
    seed,
    wakeAtMs: undefined,
  };
}

function takeStep(rules: Rules, state: EmergentState, input: Input<EmergentMessage>): Step<EmergentState, EmergentMessage, never> {
  const step = new StepContext(rules, state, input);
  ignorePause(step);
  endIfOver(step);
  handleInput(step, input, { onTick, onMessage, onCommand });
  settleLeadership(step);
  return step.done();
}

function onTick(step: StepContext): void {
  onAttempt(step);
  onAckTimeout(step);
  const { role } = step.present ?? {};
  if (role?.kind === 'claiming' && step.nowMs >= role.untilMs) conclude(step);
  if (step.present === undefined || step.nowMs < step.state.beatAtMs) return;
  beat(step);
  claimIfNext(step);
  review(step);
  searchIfDue(step);
}

function onMessage(step: StepContext, from: string, message: EmergentMessage): void {
  const version = falseVersionOf(step.state, message);
  if (version !== undefined) return step.event({ type: 'conflict', conflict: { code: 'VERSION_TOO_HIGH', from, version } });
  switch (message.type) {
    case 'join':
      return step.present?.role.kind === 'coordinating' ? onJoin(step, from, message) : onJoinElsewhere(step, from, message);
    case 'waiting':
      return onWaiting(step, from, message);
    case 'seek':
      onSought(step, message.coordinator);
      return onStranger(step, message.coordinator);
    case 'update':
      return onUpdate(step, from, message.list);
    case 'ack':
      return onAck(step, from, message);
    case 'heartbeat':
      return onHeartbeat(step, from, message);
    case 'pull':
      return onPull(step, from, message);
    case 'current':
      return onCurrent(step, from, message);
    case 'removed':
      return onRemoved(step, from, message);
    case 'missed':
      return onMissed(step, from, message);
    case 'ask':
      return onAsk(step, from, message);
    case 'answer':
      return onAnswer(step, from, message);
    case 'probe':
      return onProbe(step, from, message);
    case 'invite':
      return onInvite(step, from, message);
    case 'merge':
      return onMerge(step, from, message);
    case 'leave':
      return onLeave(step, from, message);
    default:
      return message satisfies never;
  }
}

function onCommand(step: StepContext, command: Command): void {
  switch (command.type) {
    case 'seeds':
      return onSeeds(step, command.self, command.seeds);
    case 'campaign': {
      const { keepUntilMs } = step.state;
      step.set({ standing: true, keepUntilMs: keepUntilMs === Infinity ? keepUntilMs : step.nowMs });
      return review(step);
    }
    case 'withdraw':
      return step.set({ standing: false });
    case 'end':
      return endBy(step, command.reason);
    case 'release':
      step.set({ keepUntilMs: step.nowMs + step.state.keepOnMs });
      return transferTo(step, command.to);
    case 'leave':
      return takeLeave(step);
    case 'seen':
      return undefined;
    default:
      return command satisfies never;
  }
}

/** The oldest other member that campaigns and is not suspect. */
function successorOf(rules: Rules, state: EmergentState, to: string | undefined): string | undefined {
  if (state.leading === undefined || state.phase.kind !== 'present') return undefined;
  const { phase } = state;
  const step = new StepContext(rules, state, {
    now: { monotonicMs: state.stepAtMs, wallMs: 0 },
    position: { lastTerm: 0n, lastIndex: 0n },
  });
  const isFit = (i: number): boolean => !isSuspect(step, phase, i);
  return phase.list.members.find(
    ({ memberId, standing }, i) => standing && memberId !== state.memberId && (to === undefined || memberId === to) && isFit(i),
  )?.memberId;
}

/** Why `successorOf` returns undefined. */
function whyNoSuccessor({ memberId, phase }: EmergentState, to: string | undefined): string {
  const members = phase.kind === 'present' ? phase.list.members : [];
  if (to === undefined) {
    const stands = members.some((entry) => entry.standing && entry.memberId !== memberId);
    return stands ? 'the other members that campaign are suspected of having failed' : 'no other member campaigns';
  }
  if (to === memberId) return 'it is the leader itself';
  const named = members.find((entry) => entry.memberId === to);
  if (named === undefined) return 'it is not one of the members';
  return named.standing ? 'it is suspected of having failed' : 'it does not campaign';
}
