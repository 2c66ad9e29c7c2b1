/**
 * Searches all orders of events of a few members, breadth first. It runs the real `step`, keeps
 * what that persists, and keeps every message in transit for ever, so that a message may arrive
 * late, twice or never. One leader per term must follow from the votes alone, so the search leaves
 * out everything else: any timer may fire at any time, no promise lasts, pre-votes arrive without a
 * request, and heartbeats and refusals are left out. The simulation covers what depends on clocks.
 */

import { quorum } from '../../src/index.ts';
import type { Input } from '../../src/index.ts';
import type { QuorumMessage, Vote } from '../../src/quorum/message.ts';
import type { QuorumAlgorithm } from '../../src/quorum/quorum.ts';
import type { QuorumState } from '../../src/quorum/state.ts';

export interface Case {
  readonly members: number;
  /** States beyond these limits are not explored. */
  readonly maxTerm: number;
  readonly crashes: number;
  readonly handovers: number;
  /** A planted bug: nothing is persisted. */
  readonly forgetful?: boolean;
  /** If there are more states, the search explores all of them up to some depth. */
  readonly maxStates: number;
}

export interface Found {
  readonly states: number;
  /** True: the search left out nothing but what the limits exclude. */
  readonly complete: boolean;
  /** In how many states a member has been elected. */
  readonly led: number;
  readonly broken?: { readonly what: string; readonly steps: readonly string[] };
}

interface World {
  readonly members: readonly QuorumState[];
  readonly kept: readonly (Vote | undefined)[];
  /** The numbers of all messages that were sent, as bits. */
  readonly sent: bigint;
  /** The members elected in each term. Two in one term break the promise. */
  readonly leaders: readonly string[];
  readonly crashes: number;
  readonly handovers: number;
}

interface Node {
  readonly world: World;
  readonly by: string;
  readonly before: Node | undefined;
}

interface Sent {
  readonly from: string;
  readonly to: string;
  readonly message: QuorumMessage;
}

type Act = Input<QuorumMessage> extends infer I ? (I extends unknown ? Omit<I, 'now' | 'position'> : never) : never;

const NOW = { monotonicMs: 0, wallMs: 0 };
const POSITION = { lastTerm: 0n, lastIndex: 0n };

export function explore(wanted: Case): Found {
  const rules = new Rules(wanted);
  const begin = rules.begin();
  const seen = new Set<string>([keyOf(begin)]);
  let layer: readonly Node[] = [{ world: begin, by: '', before: undefined }];
  let [complete, led] = [true, 0];
  for (;;) {
    const next: Node[] = [];
    for (const before of layer) {
      for (const [by, world] of rules.successors(before.world)) {
        const key = keyOf(world);
        if (seen.has(key)) continue;
        if (seen.size >= wanted.maxStates) complete = false;
        else {
          seen.add(key);
          const node = { world, by, before };
          const two = world.leaders.find((ids) => ids.length > 1);
          if (two !== undefined)
            return { states: seen.size, complete, led, broken: { what: `${two} lead one term`, steps: stepsTo(node) } };
          if (world.leaders.some((ids) => ids !== '')) led += 1;
          next.push(node);
        }
      }
    }
    if (next.length === 0) return { states: seen.size, complete, led };
    layer = next;
  }
}

class Rules {
  readonly #ids: readonly string[];
  readonly #algorithm: QuorumAlgorithm;
  readonly #case: Case;
  readonly #messages: Sent[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(wanted: Case) {
    this.#ids = ['a', 'b', 'c', 'd', 'e'].slice(0, wanted.members);
    this.#algorithm = quorum({ members: this.#ids });
    this.#case = wanted;
  }

  begin(): World {
    const { crashes, handovers, maxTerm } = this.#case;
    const members = this.#ids.map((id) => this.#start(id, undefined));
    return {
      members,
      kept: members.map(() => undefined),
      sent: 0n,
      leaders: Array.from({ length: maxTerm }, () => ''),
      crashes,
      handovers,
    };
  }

  *successors(world: World): Generator<readonly [by: string, World]> {
    for (const [number, { from, to, message }] of this.#messages.entries())
      if ((world.sent & (1n << BigInt(number))) !== 0n)
        yield* this.#acted(world, to, `${to} hears ${message.type} of ${from}, term ${message.term}`, { type: 'message', from, message });
    for (const [i, id] of this.#ids.entries()) {
      const { role } = world.members[i]!;
      if (role.kind !== 'leading') yield* this.#asks(world, id);
      if (world.crashes > 0) yield [`${id} crashes`, { ...put(world, i, this.#start(id, world.kept[i])), crashes: world.crashes - 1 }];
      if (world.handovers > 0 && role.kind === 'leading') yield* this.#handsOver(world, id);
    }
  }

  /** Its timer fires, and enough other members would vote for it. */
  *#asks(world: World, id: string): Generator<readonly [by: string, World]> {
    let asking = world;
    for (const act of [{ type: 'tick' } as const, ...this.#ids.map((from) => ({ type: 'message', from }) as const)]) {
      const { term, role } = asking.members[this.#ids.indexOf(id)]!;
      if (act.type === 'message' && role.kind !== 'polling') continue;
      const granted = { type: 'preVoteAnswer', term, poll: role.kind === 'polling' ? role.poll : 0, granted: true } as const;
      const [next] = this.#acted(asking, id, '', act.type === 'tick' ? act : { ...act, message: granted });
      if (next === undefined) return;
      asking = next[1];
    }
    yield [`${id} asks for votes`, asking];
  }

  *#handsOver(world: World, id: string): Generator<readonly [by: string, World]> {
    for (const to of this.#ids) {
      if (to === id) continue;
      for (const [, ended] of this.#acted(world, id, '', { type: 'command', command: { type: 'end', reason: 'handover' } }))
        yield* this.#acted({ ...ended, handovers: world.handovers - 1 }, id, `${id} hands over to ${to}`, {
          type: 'command',
          command: { type: 'release', to },
        });
    }
  }

  *#acted(world: World, id: string, by: string, act: Act): Generator<readonly [by: string, World]> {
    const { maxTerm, forgetful = false } = this.#case;
    const i = this.#ids.indexOf(id);
    const { state, outputs } = this.#algorithm.step(world.members[i]!, { ...act, now: NOW, position: POSITION });
    if (state.term > maxTerm) return;
    let { sent, kept, leaders } = world;
    for (const output of outputs) {
      if (output.type === 'send') sent |= this.#bitOf({ from: id, to: output.to, message: output.message });
      if (output.type === 'persist' && !forgetful) kept = kept.with(i, output.durable);
    }
    const term = Number(state.term) - 1;
    const elected = leaders[term] ?? '';
    if (state.role.kind === 'leading' && !elected.includes(id)) leaders = leaders.with(term, elected + id);
    yield [by, put({ ...world, sent, kept, leaders }, i, state)];
  }

  #bitOf({ from, to, message }: Sent): bigint {
    if (message.type === 'heartbeat' || message.type === 'preVote' || ('granted' in message && !message.granted)) return 0n;
    const key = `${from} ${to} ${message.type} ${message.term} ${'byHandover' in message && message.byHandover}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return 1n << BigInt(known);
    this.#numbers.set(key, this.#messages.length);
    this.#messages.push({ from, to, message });
    return 1n << BigInt(this.#messages.length - 1);
  }

  #start(memberId: string, durable: Vote | undefined): QuorumState {
    const state = this.#algorithm.start({ memberId, now: NOW, seed: 0, durable });
    return timeless(this.#algorithm.step(state, { type: 'command', command: { type: 'campaign' }, now: NOW, position: POSITION }).state);
  }
}

function put(world: World, i: number, state: QuorumState): World {
  return { ...world, members: world.members.with(i, timeless(state)) };
}

/** All timers are about to fire, and all promises have expired. */
function timeless(state: QuorumState): QuorumState {
  return { ...state, seed: 0, polls: 0, wakeAtMs: 0, holdUntilMs: 0, promisedUntilMs: 0, electionAtMs: 0 };
}

function keyOf({ members, kept, sent, leaders, crashes, handovers }: World): string {
  return `${members.map(memberKey).join('|')}|${kept.map((vote) => `${vote?.term}${vote?.votedFor}`).join()}|${sent}|${leaders.join()}|${crashes}${handovers}`;
}

function memberKey({ term, votedFor, role, standing, ledTerm }: QuorumState): string {
  const granted = 'granted' in role ? role.granted.toSorted() : [];
  return `${term} ${votedFor} ${role.kind} ${granted.join()} ${standing} ${ledTerm}`;
}

function stepsTo(node: Node): readonly string[] {
  return node.before === undefined ? [] : [...stepsTo(node.before), node.by];
}
