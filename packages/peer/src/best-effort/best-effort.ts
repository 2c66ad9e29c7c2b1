/**
 * The part that all best-effort algorithms share. A leader sends heartbeats. A member that hears no
 * heartbeat for the failure timeout assumes that the leader has failed. When two leaders meet, one
 * of them steps down. Each algorithm adds its own way to elect a leader.
 *
 * In a connected group without failures, exactly one member leads. Two members may lead at once
 * after a partition, or when messages are lost or late. A leader's round is one more than the
 * newest round that it knew, so rounds are usually, but not always, unique.
 */

import type { Algorithm, Command, Input, PeerView, Start, Step } from '../algorithm.ts';
import { forgetSilent, restartTimeoutsAfterPause, onElected, onResigned } from './detector.ts';
import { validityOf, end, endIfOver, successorOf, whyNoSuccessor, onHeartbeatAnswer } from './leader.ts';
import { readMessage, type BestEffortMessage } from './message.ts';
import { bestOf } from './rank.ts';
import type { BestEffortState } from './state.ts';
import { StepContext, type Procedure } from './step-context.ts';

/** An algorithm that may elect several leaders at once. It persists nothing. */
export type BestEffortAlgorithm = Algorithm<'bestEffort', BestEffortState, BestEffortMessage, never> & {
  readonly members: readonly string[];
};

const common: readonly string[] = ['heartbeat', 'heartbeatAnswer', 'elected', 'resigned', 'handover', 'alive'];

export function bestEffort(name: string, how: Procedure): BestEffortAlgorithm {
  const messageTypes: ReadonlySet<string> = new Set([...common, ...how.messageTypes]);
  return {
    name,
    safety: 'bestEffort',
    members: how.rules.members,
    configuration: how.rules.configuration,
    persists: false,
    start: (begin) => start(how, begin),
    step: (state, input) => takeStep(how, state, input),
    validity: (state) => validityOf(how.rules, state),
    view: (state) => viewOf(how, state),
    highestTerm: () => undefined,
    successor: (state, to) => successorOf(how, state, to),
    whyNoSuccessor: (state, to) => whyNoSuccessor(how, state, to),
    sortOf,
    readMessage: (data) => {
      const message = readMessage(how.rules.ranks, data);
      return message !== undefined && messageTypes.has(message.type) ? message : undefined;
    },
    readDurable: () => {
      throw new TypeError(`${name} keeps nothing`);
    },
  };
}

/**
 * Each member may start a token on the ring, so tokens of different initiators must not replace
 * each other. The algorithm repeats all other messages when they are lost.
 */
function sortOf(message: BestEffortMessage): string {
  return 'initiator' in message ? `${message.type} ${message.initiator}` : message.type;
}

function start(how: Procedure, { memberId, now, seed }: Start<never>): BestEffortState {
  const step = new StepContext(how, initialState(memberId, seed), { now, position: { lastTerm: 0n, lastIndex: 0n } });
  step.set({ electAtMs: step.nowMs + how.listensMs + how.delayMs(step) });
  return step.done().state;
}

function initialState(memberId: string, seed: number): BestEffortState {
  return {
    memberId,
    standing: false,
    standsBack: false,
    round: 0,
    leading: undefined,
    ledRound: 0,
    led: undefined,
    leaders: [],
    resigned: [],
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

function takeStep(
  how: Procedure,
  state: BestEffortState,
  input: Input<BestEffortMessage>,
): Step<BestEffortState, BestEffortMessage, never> {
  const step = new StepContext(how, state, input);
  endIfOver(step);
  restartTimeoutsAfterPause(step);
  // Handle the message before checking for silent leaders: a heartbeat may have waited while this
  // process did not run.
  if (input.type === 'message') onMessage(step, input.from, input.message);
  if (input.type === 'command') onCommand(step, input.command);
  forgetSilent(step);
  onTime(step);
  how.attend(step);
  return step.done();
}

function onTime(step: StepContext): void {
  const { election, electAtMs } = step.state;
  if (election !== undefined && step.nowMs >= election.untilMs) return step.how.onTimeout(step);
  if (election !== undefined || electAtMs === undefined || step.nowMs < electAtMs) return undefined;
  // No other member has become leader, so this member may campaign again.
  step.set({ electAtMs: undefined, standsBack: false });
  return step.how.begin(step);
}

function onMessage(step: StepContext, from: string, message: BestEffortMessage): void {
  step.set({ round: Math.max(step.state.round, message.round) });
  switch (message.type) {
    case 'heartbeat':
      return step.how.onHeartbeat(step, from, message);
    case 'heartbeatAnswer':
      return onHeartbeatAnswer(step, from, message);
    case 'elected':
      return onElected(step, from, message);
    case 'resigned':
      return onResigned(step, from, message.round);
    case 'handover':
      onResigned(step, from, message.round);
      return step.mayLead && step.state.leading === undefined ? step.how.onHandover(step, from, message) : undefined;
    default:
      return step.how.onMessage(step, from, message);
  }
}

function onCommand(step: StepContext, command: Command): void {
  switch (command.type) {
    case 'campaign':
      return campaign(step);
    case 'withdraw':
      return withdraw(step);
    case 'end':
      return end(step, command.reason);
    case 'seen':
    case 'seeds':
    case 'leave':
      return undefined;
    case 'release':
      return release(step, command.to);
    default:
      return command satisfies never;
  }
}

/**
 * Starts campaigning. A member that has already listened for a leader and knows of none starts an
 * election at once.
 */
function campaign(step: StepContext): void {
  const { leading, leaders, election, electAtMs } = step.state;
  step.set({ standing: true });
  if (leading === undefined && leaders.length === 0 && election === undefined && electAtMs === undefined)
    step.set({ electAtMs: step.nowMs + step.how.delayMs(step) });
}

/**
 * Stops campaigning. While the member leads, this does nothing: the driver ends a leadership with
 * the command `end`.
 */
function withdraw(step: StepContext): void {
  if (step.state.leading === undefined) step.set({ standing: false });
}

function release(step: StepContext, to: string | undefined): void {
  const { led, leading } = step.state;
  if (led === undefined || leading !== undefined) return;
  step.set({ led: undefined });
  step.how.release(step, led, to);
}

function viewOf(how: Procedure, state: BestEffortState): PeerView<'bestEffort'> {
  const { leading, memberId } = state;
  if (leading !== undefined) return { state: 'leader', memberId, term: undefined, round: leading.round };
  const leader = bestOf(how.rules, state.leaders);
  return leader === undefined ? { state: 'unknown' } : { state: 'leader', memberId: leader.id, term: undefined, round: leader.round };
}
