/**
 * Single steps of the best-effort algorithms under a lossy link, a long pause, or a repeated
 * message.
 */

import { describe, expect, it } from 'vitest';
import type { BestEffortAlgorithm, BestEffortMessage, BestEffortState } from '../src/index.ts';
import { algorithmOf, type Name, type Options } from './best-effort/algorithms.ts';
import { Stage } from './stage/stage.ts';

const MEMBERS = ['a', 'b', 'c', 'd'];
const NOWHERE = { lastTerm: 0n, lastIndex: 0n };

function led(name: Name, options: Partial<Options> = {}): Stage {
  const stage = new Stage(algorithmOf(name, { members: MEMBERS, candidates: MEMBERS, ...options }), 1);
  for (const id of MEMBERS) stage.start(id);
  stage.until(() => stage.agree(MEMBERS), 60_000);
  stage.pass(2_000);
  return stage;
}

describe('one link that loses everything', () => {
  /**
   * The members that became leader within 20 s during which one member received nothing from the
   * leader.
   */
  function newLeaders(name: Name, deaf: string): readonly string[] {
    const stage = led(name);
    expect(stage.leaders).toEqual(['a']);
    stage.lose((from, to) => from === 'a' && to === deaf);
    const before = stage.lines.length;
    stage.pass(20_000);
    return stage.lines.slice(before).flatMap((line) => (line.type === 'leads' ? [line.id] : []));
  }

  it.each(['bully', 'nextInLine', 'candidateOrdinary', 'ring'] as const)('%s: makes no second leader', (name) => {
    expect(newLeaders(name, 'c')).toEqual([]);
    expect(newLeaders(name, 'd')).toEqual([]);
  });

  it.each(['candidateOrdinary', 'ring'] as const)('%s: makes no second leader, even if it leads to the second best', (name) => {
    expect(newLeaders(name, 'b')).toEqual([]);
  });

  it.each(['bully', 'nextInLine'] as const)('%s: makes the second best a second leader: it asks only the leader, or nobody', (name) => {
    expect(new Set(newLeaders(name, 'b'))).toEqual(new Set(['b']));
  });

  it('members that hear the leader answer a member that runs an election', () => {
    const stage = led('nextInLine');
    stage.lose((from, to) => from === 'a' && to === 'c');
    stage.pass(3_000);
    const said = stage.lines.filter((line) => line.type === 'said' && line.from === 'b' && line.to === 'c');
    expect(said.at(-1)).toMatchObject({ message: { type: 'elected', leader: 'a' } });
    expect(stage.sees('c')).toBe('a');
  });
});

/** Runs one member step by step. */
class One {
  readonly algorithm: BestEffortAlgorithm;
  readonly said: { readonly to: string; readonly message: BestEffortMessage }[] = [];
  state: BestEffortState;
  nowMs = 0;

  constructor(name: Name, memberId: string, options: Partial<Options> = {}) {
    this.algorithm = algorithmOf(name, { members: MEMBERS, candidates: MEMBERS, ...options });
    this.state = this.algorithm.start({ memberId, now: this.#now, seed: 1, durable: undefined });
    this.#step({ type: 'command', command: { type: 'campaign' } });
  }

  get #now(): { readonly monotonicMs: number; readonly wallMs: number } {
    return { monotonicMs: this.nowMs, wallMs: this.nowMs };
  }

  get view(): string | undefined {
    const view = this.algorithm.view(this.state);
    return view.state === 'leader' ? view.memberId : undefined;
  }

  receive(from: string, message: BestEffortMessage): this {
    return this.#step({ type: 'message', from, message });
  }

  /** At that time, whatever it had asked for. */
  tickAt(nowMs: number): this {
    this.nowMs = nowMs;
    return this.#step({ type: 'tick' });
  }

  withdraw(): this {
    return this.#step({ type: 'command', command: { type: 'withdraw' } });
  }

  /** Ticks often enough until that time. */
  tickUntil(nowMs: number): this {
    while (this.nowMs < nowMs) this.tickAt(this.nowMs + 50);
    return this;
  }

  types(): readonly string[] {
    return this.said.splice(0).map(({ to, message }) => `${message.type} ${to}`);
  }

  #step(input: object): this {
    const { state, outputs } = this.algorithm.step(this.state, { ...input, now: this.#now, position: NOWHERE } as never);
    this.state = state;
    for (const output of outputs) if (output.type === 'send') this.said.push(output);
    return this;
  }
}

const heartbeat: BestEffortMessage = { type: 'heartbeat', round: 1, weight: 0, successors: [], failures: [] };

describe('a follower', () => {
  it('begins an election when its leader has been silent for a failure timeout', () => {
    const one = new One('bully', 'b').receive('a', heartbeat);
    expect(one.view).toBe('a');
    one.types();
    one.tickAt(999);
    expect(one.types()).toEqual([]);
    one.tickAt(1_000);
    expect(one.types()).toEqual(['election a']);
    expect(one.view).toBeUndefined();
  });

  it('that was paused restarts the failure timeouts of its leaders', () => {
    const one = new One('bully', 'b').receive('a', heartbeat);
    one.types();
    one.tickAt(5_000);
    expect(one.types()).toEqual([]);
    expect(one.view).toBe('a');
    one.tickAt(6_000);
    expect(one.types()).toEqual(['election a']);
  });

  it('announces its leader to a member that runs an election, if it has lately heard the leader itself', () => {
    const ask = (one: One): readonly string[] => {
      one.types();
      return one.receive('c', { type: 'takeOver', round: 1 }).types();
    };
    const one = new One('nextInLine', 'b').receive('a', heartbeat);
    expect(ask(one)).toEqual(['elected c']);
    one.tickAt(500);
    expect(ask(one)).toEqual(['alive c', 'elected a', 'elected c', 'elected d']);
    const hearsay = new One('nextInLine', 'b').receive('d', { type: 'elected', round: 1, leader: 'a', weight: 0 });
    expect(ask(hearsay)).toEqual(['alive c', 'elected a', 'elected c', 'elected d']);
  });

  it('follows the winner of an election, and the former leader again if it is still alive', () => {
    const one = new One('nextInLine', 'c').receive('a', heartbeat).receive('b', { type: 'elected', round: 2, leader: 'b', weight: 0 });
    expect(one.view).toBe('b');
    expect(one.receive('a', heartbeat).view).toBe('a');
  });

  it('ignores heartbeats that a leader sent before it resigned', () => {
    const one = new One('ring', 'c').receive('a', heartbeat).receive('a', { type: 'resigned', round: 1 });
    expect(one.receive('a', heartbeat).view).toBeUndefined();
    expect(one.receive('a', { ...heartbeat, round: 2 }).view).toBe('a');
  });

  it.each([
    ['ring', { type: 'announce', round: 2, initiator: 'a', attempt: 7, hops: 1, leader: 'a' }],
    ['candidateOrdinary', { type: 'elected', round: 2, leader: 'a', weight: 0 }],
  ] as const)('%s: elects when the winner of an election resigned before the member learned of it', (name, announcement) => {
    const one = new One(name, 'c').receive('d', heartbeat).receive('a', { type: 'resigned', round: 2 }).receive('d', announcement);
    expect(one.view).toBe('d');
    expect(one.tickUntil(10_000).view).toBe('c');
  });

  it('of the bully algorithm takes over from a leader if it has precedence', () => {
    const one = new One('bully', 'a').receive('c', heartbeat);
    expect(one.view).toBe('a');
    expect(one.types()).toEqual(['elected b', 'elected c', 'elected d']);
    expect(new One('nextInLine', 'a').receive('c', heartbeat).view).toBe('c');
  });

  it('takes over from a leader that has forgotten its failures', () => {
    const failures = [{ id: 'a', round: 7, count: 1.9 }];
    const one = new One('bully', 'b').receive('c', { ...heartbeat, failures });
    expect(one.types()).toContain('elected c');
    one.receive('a', { ...heartbeat, round: 8 });
    expect(one.view).toBe('b');
    expect(one.types()).toEqual(['heartbeat a']);
  });
});

describe('a ring', () => {
  const token = { type: 'collect', round: 1, initiator: 'd', attempt: 7, hops: 1, live: ['d'] } as const;

  it.each([
    ['live-set', ['d', 'c']],
    ['maximum', ['c']],
  ] as const)('%s: adds itself to a token and forwards it', (variant, live) => {
    const one = new One('ring', 'c', { variant }).receive('d', token);
    expect(one.said).toEqual([
      { type: 'send', to: 'd', message: { type: 'passed', round: 1, initiator: 'd', attempt: 7, phase: 'collect' } },
      { type: 'send', to: 'b', message: { ...token, hops: 2, live } },
    ]);
  });

  it('forwards a repeated token once, and acknowledges it twice', () => {
    const one = new One('ring', 'c').receive('d', token).receive('d', token);
    expect(one.types()).toEqual(['passed d', 'collect b', 'passed d']);
  });

  it('skips a member that does not acknowledge in time', () => {
    const one = new One('ring', 'c').receive('d', token);
    one.types();
    one.tickAt(200);
    expect(one.types()).toEqual(['collect a']);
    one.receive('a', { type: 'passed', round: 1, initiator: 'd', attempt: 7, phase: 'collect' });
    one.tickAt(400);
    expect(one.types()).toEqual([]);
  });

  it.each([
    ['live-set', ['a', 'c', 'b'], ['announce d']],
    ['maximum', ['a'], []],
  ] as const)('%s: elects no member that stopped campaigning while its token circled', (variant, live, said) => {
    const one = new One('ring', 'a', { variant }).tickUntil(1_000).withdraw();
    const sent = one.said.splice(0).map(({ message }) => message);
    const attempt = sent[0]?.type === 'collect' ? sent[0].attempt : -1;
    one.receive('b', { type: 'collect', round: 0, initiator: 'a', attempt, hops: 4, live });
    expect(one.said.filter(({ to }) => to !== 'b').map(({ to, message }) => `${message.type} ${to}`)).toEqual(said);
    expect(one.view).toBe(variant === 'live-set' ? 'b' : undefined);
  });

  it('a token takes at most one lap', () => {
    expect(new One('ring', 'c').receive('d', { ...token, hops: 5 }).types()).toEqual(['passed d']);
  });

  it('a token does not replace the token of another initiator', () => {
    const { sortOf } = new One('ring', 'c').algorithm;
    expect(sortOf(token)).not.toBe(sortOf({ ...token, initiator: 'b' }));
    expect(sortOf(token)).toBe(sortOf({ ...token, attempt: 8 }));
  });
});

describe('candidate/ordinary', () => {
  it('delays rise from the first to the last ordinary member by rank, and then over the candidates', () => {
    const options = { candidates: ['a', 'c'], answerTimeoutMs: 100, delayStepMs: 150 };
    const waits = MEMBERS.map((id) => new One('candidateOrdinary', id, options).state.electAtMs! - 1_000);
    expect(waits).toEqual([300, 0, 450, 150]);
  });
});

describe('a group', () => {
  it('whose two members take each other for their leader does not redirect a third one without end', () => {
    const alone = new One('invitation', 'a').tickAt(1);
    expect(alone.view).toBe('a');
    const before = alone.said.length;
    for (let i = 0; i < 10; i += 1) {
      alone.receive('b', { type: 'redirect', round: 1, leader: 'c' }).receive('c', { type: 'redirect', round: 1, leader: 'b' });
    }
    expect(alone.said.length).toBe(before);
  });
});
