/**
 * What elections by best effort have in common: a leader that says so by heartbeats, members that hold it for dead when they have not heard it for a while,
 * and what happens when two leaders meet. How one is elected, each algorithm says in its own way.
 *
 * In a connected, quiet group exactly one leads. Nothing keeps two from leading at once: a partition makes a leader on each side, and so do messages that are
 * lost or late. A round is one more than the newest one that its leader had heard of: mostly, but not certainly, nobody else's.
 */

import type { Algorithm, Command, Input, PeerView, Start, Step } from '../algorithm.ts';
import { forgetSilent, notWhileAsleep, onElected, onResigned } from './detector.ts';
import { beliefOf, end, endIfOver, heirOf, onHeartbeatAnswer } from './leader.ts';
import { readMessage, type BestEffortMessage } from './message.ts';
import { bestOf } from './rank.ts';
import type { BestEffortState } from './state.ts';
import { Turn, type Procedure } from './turn.ts';

export type BestEffortAlgorithm = Algorithm<'bestEffort', BestEffortState, BestEffortMessage, never> & {
  readonly members: readonly string[];
};

const common: readonly string[] = ['heartbeat', 'heartbeatAnswer', 'elected', 'resigned', 'handover', 'alive'];

export function bestEffort(name: string, how: Procedure): BestEffortAlgorithm {
  const speaks: ReadonlySet<string> = new Set([...common, ...how.speaks]);
  return {
    name,
    safety: 'bestEffort',
    members: how.rules.members,
    configuration: how.rules.configuration,
    persists: false,
    start: (begin) => start(how, begin),
    step: (state, input) => step(how, state, input),
    belief: (state) => beliefOf(how.rules, state),
    view: (state) => viewOf(how, state),
    highestTerm: () => undefined,
    heir: (state, to) => heirOf(how, state, to),
    sortOf,
    readMessage: (data) => {
      const message = readMessage(how.rules.ranks, data);
      return message !== undefined && speaks.has(message.type) ? message : undefined;
    },
    readDurable: () => {
      throw new TypeError(`${name} keeps nothing`);
    },
  };
}

/**
 * A ring's tokens are of as many sorts as there are members to begin with: one does not make way for another's. What else is lost for a newer one is said
 * again, or asked again.
 */
function sortOf(message: BestEffortMessage): string {
  return 'initiator' in message ? `${message.type} ${message.initiator}` : message.type;
}

function start(how: Procedure, { memberId, now, seed }: Start<never>): BestEffortState {
  const turn = new Turn(how, blank(memberId, seed), { now, position: { lastTerm: 0n, lastIndex: 0n } });
  turn.set({ electAtMs: turn.nowMs + how.listensMs + how.delayMs(turn) });
  return turn.done().state;
}

function blank(memberId: string, seed: number): BestEffortState {
  return {
    memberId,
    standing: false,
    standsBack: false,
    round: 0,
    leading: undefined,
    ledRound: 0,
    led: undefined,
    leaders: [],
    over: [],
    lost: undefined,
    electAtMs: undefined,
    election: undefined,
    failures: [],
    passing: [],
    seen: [],
    inviteAtMs: undefined,
    seed,
    wakeAtMs: undefined,
  };
}

function step(how: Procedure, state: BestEffortState, input: Input<BestEffortMessage>): Step<BestEffortState, BestEffortMessage, never> {
  const turn = new Turn(how, state, input);
  endIfOver(turn);
  notWhileAsleep(turn);
  // A message of a leader comes first: it may have been waiting.
  if (input.type === 'message') onMessage(turn, input.from, input.message);
  if (input.type === 'command') onCommand(turn, input.command);
  forgetSilent(turn);
  onTime(turn);
  how.attend(turn);
  return turn.done();
}

function onTime(turn: Turn): void {
  const { election, electAtMs } = turn.state;
  if (election !== undefined && turn.nowMs >= election.untilMs) return turn.how.onTimeout(turn);
  if (election !== undefined || electAtMs === undefined || turn.nowMs < electAtMs) return undefined;
  // Nobody has come forward: there is nobody to stand back for.
  turn.set({ electAtMs: undefined, standsBack: false });
  return turn.how.begin(turn);
}

function onMessage(turn: Turn, from: string, message: BestEffortMessage): void {
  turn.set({ round: Math.max(turn.state.round, message.round) });
  switch (message.type) {
    case 'heartbeat':
      return turn.how.onHeartbeat(turn, from, message);
    case 'heartbeatAnswer':
      return onHeartbeatAnswer(turn, from, message);
    case 'elected':
      return onElected(turn, from, message);
    case 'resigned':
      return onResigned(turn, from, message.round);
    case 'handover':
      onResigned(turn, from, message.round);
      return turn.mayLead && turn.state.leading === undefined ? turn.how.onHandover(turn, from, message) : undefined;
    default:
      return turn.how.onMessage(turn, from, message);
  }
}

function onCommand(turn: Turn, command: Command): void {
  switch (command.type) {
    case 'campaign':
      return campaign(turn);
    case 'withdraw':
      return withdraw(turn);
    case 'end':
      return end(turn, command.reason);
    case 'seen':
    case 'seeds':
    case 'leave':
      return undefined;
    case 'release':
      return release(turn, command.to);
    default:
      return command satisfies never;
  }
}

/** One that has listened for a while already, and knows of no leader, begins at once. */
function campaign(turn: Turn): void {
  const { leading, leaders, election, electAtMs } = turn.state;
  turn.set({ standing: true });
  if (leading === undefined && leaders.length === 0 && election === undefined && electAtMs === undefined)
    turn.set({ electAtMs: turn.nowMs + turn.how.delayMs(turn) });
}

/** Stands no more. A leadership is over when that is asked for. */
function withdraw(turn: Turn): void {
  if (turn.state.leading === undefined) turn.set({ standing: false });
}

function release(turn: Turn, to: string | undefined): void {
  const { led, leading } = turn.state;
  if (led === undefined || leading !== undefined) return;
  turn.set({ led: undefined });
  turn.how.release(turn, led, to);
}

function viewOf(how: Procedure, state: BestEffortState): PeerView<'bestEffort'> {
  const { leading, memberId } = state;
  if (leading !== undefined) return { state: 'leader', memberId, term: undefined, round: leading.round };
  const leader = bestOf(how.rules, state.leaders);
  return leader === undefined ? { state: 'unknown' } : { state: 'leader', memberId: leader.id, term: undefined, round: leader.round };
}
