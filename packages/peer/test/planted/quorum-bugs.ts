/** Bugs to plant in the quorum algorithm and in the driver. */

import { bug as bugOf, type Bug } from './bug.ts';

function bug(name: string, about: string, file: string, from: string, to: string): Bug {
  return bugOf('quorum', name, about, file, from, to);
}

export const quorumBugs: readonly Bug[] = [
  bug(
    'noPersist',
    'term and vote are not written down',
    'quorum/step-context.ts',
    'readonly QuorumOutput[] = changed ?',
    'readonly QuorumOutput[] = changed && !changed ?',
  ),
  bug(
    'sendsFirst',
    'what a step says leaves before what it persists is durable',
    'driver.ts',
    '    this.#retract(outputs);',
    "    this.#retract(outputs); for (const output of outputs) if (output.type === 'send') this.#ports.send(output.to, output.message);",
  ),
  bug(
    'votesTwice',
    'a member votes for whoever asks',
    'quorum/voter.ts',
    'const isFree = votedFor === undefined || votedFor === from;',
    'const isFree = true;',
  ),
  bug(
    'countsTwice',
    'a vote that arrives twice counts twice',
    'quorum/candidate.ts',
    "role.kind !== 'voting' || role.granted.includes(from)",
    "role.kind !== 'voting'",
  ),
  bug(
    'halfIsEnough',
    'half of the members are a majority',
    'quorum/options.ts',
    'Math.floor(members.length / 2) + 1',
    'Math.ceil(members.length / 2)',
  ),
  bug(
    'noPromise',
    'who has heard a leader votes for another at once',
    'quorum/follower.ts',
    'promisedUntilMs: step.nowMs + step.rules.electionTimeoutMinMs',
    'promisedUntilMs: step.nowMs',
  ),
  bug(
    'noHold',
    'who has just started votes at once',
    'quorum/quorum.ts',
    'now.monotonicMs + Math.max(electionTimeoutMaxMs, promiseMs);',
    'now.monotonicMs;',
  ),
  bug(
    'noMargin',
    'the lease is as long as the promise, whatever clocks do',
    'quorum/options.ts',
    'min * (1 - marginRatio(clockErrorRatio))',
    'min + 0 * marginRatio(clockErrorRatio)',
  ),
  bug(
    'leaseFromAnswer',
    'validity counts from when the answer came, not from the sending',
    'quorum/leader.ts',
    'step.set({ role: { ...role, vouched, sent:',
    'step.set({ role: { ...role, vouched: { ...vouched, sentAt: step.now }, sent:',
  ),
  bug(
    'timerOnly',
    'validity ends by a timer, not by the clock that is read',
    'quorum/leader.ts',
    'forMs: validMs, safeForMs',
    'forMs: validMs + 1e9, safeForMs',
  ),
  bug(
    'oneClock',
    'a machine that slept is not noticed',
    'driver.ts',
    'this.#deadline?.remainingMs() ?? 0',
    'this.#deadline?.remainingMonotonicMs() ?? 0',
  ),
  bug(
    'setBackUnseen',
    'a wall clock that is set back hides a sleep',
    'driver.ts',
    'this.#deadline?.readClocks() ?? momentOf(this.#clock)',
    'momentOf(this.#clock)',
  ),
  bug(
    'believesOn',
    'a leader that gives up is still valid',
    'driver.ts',
    'if (validity !== undefined && this.isValid()) this.#end(reason, validity);',
    'if (validity !== undefined && this.isValid()) this.#ports.ended(reason, validity);',
  ),
  bug(
    'endsUnreported',
    'the end of a leadership that the algorithm ends is not reported',
    'driver.ts',
    'this.#ports.ended(output.event.reason, validity);',
    'validity satisfies object;',
  ),
  bug(
    'endsTwice',
    'the end of a leadership is reported twice',
    'driver.ts',
    'this.#ports.ended(reason, validity);\n    this.#pump();',
    'this.#ports.ended(reason, validity);\n    this.#ports.ended(reason, validity);\n    this.#pump();',
  ),
  bug(
    'lateHandover',
    'an old handover is as good as a new one',
    'quorum/quorum.ts',
    'if (message.term < step.state.term) return',
    "if (message.term < step.state.term && message.type !== 'handover') return",
  ),
  bug(
    'noPreVote',
    'a member that hears nobody raises the term',
    'quorum/candidate.ts',
    'granted.length >= step.rules.majority && mayVote',
    'granted.length >= 1 && mayVote',
  ),
  bug(
    'anyData',
    'a vote is given whatever data the candidate has',
    'quorum/voter.ts',
    '!isLed && comparePositions(position, step.position) >= 0',
    '!isLed && comparePositions(position, position) >= 0',
  ),
  bug(
    'dogInTheManger',
    'who does not stand refuses all who rank lower',
    'quorum/voter.ts',
    '|| !state.standing || comparePositions',
    '|| comparePositions',
  ),
  bug(
    'sameTimeout',
    'all wait for the same time',
    'quorum/step-context.ts',
    'this.random() * (max - min)',
    '0 * this.random() * (max - min)',
  ),
  bug(
    'silent',
    'who speaks of an older term is not told',
    'quorum/quorum.ts',
    "step.send(from, { type: 'stale', term: step.state.term });",
    'step.position satisfies object;',
  ),
];
