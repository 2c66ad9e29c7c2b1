/**
 * Whoever is the oldest coordinates: no election, but an order that all know. (The emergent leader of peer-to-peer systems, as in JGroups, Akka and Hazelcast; Joshi, "Patterns
 * of Distributed Systems", 2023.) Members join by seeds, and are told of each other by versions of one list, which the coordinator keeps; it alone lets in and removes. When it
 * is missed the next oldest takes over. Under a partition each side has a coordinator, and each believes; afterwards the smaller side joins the larger one.
 */

import type { Algorithm, Belief, Command, Input, PeerView, Start, Step } from '../algorithm.ts';
import { claimIfNext, conclude, onAnswer, onAsk } from './claim.ts';
import { beat, onCurrent, onHeartbeat, onMissed, onPull, onRemoved, onUpdate } from './follower.ts';
import { onAttempt, onJoinElsewhere, onSeeds, onSought, onWaiting } from './joiner.ts';
import { onAck, onJoin, onLeave, onPatience, passOn, review, takeLeave } from './keeper.ts';
import { endBy, endIfOver, settleLeadership } from './lead.ts';
import { onInvite, onMerge, onProbe, onStranger, searchIfDue } from './merge.ts';
import { readMessage, type EmergentMessage } from './message.ts';
import { resolveRules, type EmergentOptions, type Rules } from './options.ts';
import { falseVersionOf } from './plausible.ts';
import type { EmergentState } from './state.ts';
import { Turn } from './turn.ts';
import { beliefOf, viewOf } from './view.ts';
import { forgive, isSuspect } from './watch.ts';

export type EmergentAlgorithm = Algorithm<'bestEffort', EmergentState, EmergentMessage, never>;

/** The same for all members of a cluster. */
export function emergent(options: EmergentOptions): EmergentAlgorithm {
  const rules = resolveRules(options);
  return {
    name: 'emergent',
    safety: 'bestEffort',
    members: 'open',
    configuration: rules.configuration,
    persists: false,
    start,
    step: (state, input) => step(rules, state, input),
    belief: (state): Belief<'bestEffort'> | undefined => beliefOf(rules, state),
    view: (state): PeerView<'bestEffort'> => viewOf(rules, state),
    highestTerm: () => undefined,
    heir: (state, to) => heirOf(rules, state, to),
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

function step(rules: Rules, state: EmergentState, input: Input<EmergentMessage>): Step<EmergentState, EmergentMessage, never> {
  const turn = new Turn(rules, state, input);
  forgive(turn);
  endIfOver(turn);
  switch (input.type) {
    case 'tick':
      onTick(turn);
      break;
    case 'message':
      onMessage(turn, input.from, input.message);
      break;
    case 'command':
      onCommand(turn, input.command);
      break;
    default:
      input satisfies never;
  }
  settleLeadership(turn);
  return turn.done();
}

function onTick(turn: Turn): void {
  onAttempt(turn);
  onPatience(turn);
  const { role } = turn.present ?? {};
  if (role?.kind === 'claiming' && turn.nowMs >= role.untilMs) conclude(turn);
  if (turn.present === undefined || turn.nowMs < turn.state.beatAtMs) return;
  beat(turn);
  claimIfNext(turn);
  review(turn);
  searchIfDue(turn);
}

function onMessage(turn: Turn, from: string, message: EmergentMessage): void {
  const version = falseVersionOf(turn.state, message);
  if (version !== undefined) return turn.event({ type: 'conflict', conflict: { code: 'VERSION_TOO_HIGH', from, version } });
  switch (message.type) {
    case 'join':
      return turn.present?.role.kind === 'coordinating' ? onJoin(turn, from, message) : onJoinElsewhere(turn, from, message);
    case 'waiting':
      return onWaiting(turn, from, message);
    case 'seek':
      onSought(turn, message.coordinator);
      return onStranger(turn, message.coordinator);
    case 'update':
      return onUpdate(turn, from, message.list);
    case 'ack':
      return onAck(turn, from, message);
    case 'heartbeat':
      return onHeartbeat(turn, from, message);
    case 'pull':
      return onPull(turn, from, message);
    case 'current':
      return onCurrent(turn, from, message);
    case 'removed':
      return onRemoved(turn, from, message);
    case 'missed':
      return onMissed(turn, from, message);
    case 'ask':
      return onAsk(turn, from, message);
    case 'answer':
      return onAnswer(turn, from, message);
    case 'probe':
      return onProbe(turn, from, message);
    case 'invite':
      return onInvite(turn, from, message);
    case 'merge':
      return onMerge(turn, from, message);
    case 'leave':
      return onLeave(turn, from, message);
    default:
      return message satisfies never;
  }
}

function onCommand(turn: Turn, command: Command): void {
  switch (command.type) {
    case 'seeds':
      return onSeeds(turn, command.self, command.seeds);
    case 'campaign': {
      const { keepUntilMs } = turn.state;
      turn.set({ standing: true, keepUntilMs: keepUntilMs === Infinity ? keepUntilMs : turn.nowMs });
      return review(turn);
    }
    case 'withdraw':
      return turn.set({ standing: false });
    case 'end':
      return endBy(turn, command.reason);
    case 'release':
      turn.set({ keepUntilMs: turn.nowMs + turn.state.keepOnMs });
      return passOn(turn, command.to);
    case 'leave':
      return takeLeave(turn);
    case 'seen':
      return undefined;
    default:
      return command satisfies never;
  }
}

/** The oldest other member that stands and is not missed. */
function heirOf(rules: Rules, state: EmergentState, to: string | undefined): string | undefined {
  if (state.leading === undefined || state.phase.kind !== 'present') return undefined;
  const { phase } = state;
  const turn = new Turn(rules, state, { now: { monotonicMs: state.stepAtMs, wallMs: 0 }, position: { lastTerm: 0n, lastIndex: 0n } });
  const isFit = (i: number): boolean => !isSuspect(turn, phase, i);
  return phase.list.members.find(
    ({ memberId, standing }, i) => standing && memberId !== state.memberId && (to === undefined || memberId === to) && isFit(i),
  )?.memberId;
}
