/**
 * The faults of a run, drawn from a seed before the run begins. The nemesis only carries them out.
 */

import { randomOf } from '@incumbent/test-support/random';
import type { Fault } from './faults/fault.ts';

/**
 * The target: the leader at that time (of the members or of the servers), a member that does not
 * lead, or one by its number.
 */
type Aim = 'leader' | 'follower' | number;

export interface Step {
  readonly id: number;
  /** In ms, from the beginning of its storm. */
  readonly at: number;
  readonly fault: string;
  readonly aim: Aim;
  /** Its duration in ms. */
  readonly for: number;
}

/** One storm. A calm follows each. */
export interface Round {
  readonly stormMs: number;
  readonly steps: readonly Step[];
}

export interface Plan {
  readonly seed: number;
  readonly rounds: readonly Round[];
}

export interface PlanOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly ttlMs: number;
  /**
   * While one server is faulty, a member leads within this many ms. Undefined if there is no quorum
   * without it.
   */
  readonly sickMs?: number | undefined;
  /**
   * While watches are silent, a member leads within this many ms. Undefined: watches are silent no
   * longer than other faults last.
   */
  readonly silentMs?: number | undefined;
  /** The faults that are possible with this store. */
  readonly faults: readonly Fault[];
  readonly random: () => number;
}

/** The approximate length of a storm, in ms. */
const STORM_MS = 55_000;
/** The approximate length of a calm, in ms. It ends when a member has led for a while. */
const CALM_MS = 11_000;
/** The approximate time from one fault to the next, in ms. */
const EVERY_MS = 5_000;
/** Separates the random stream of one kind of decision from the others of the same seed. */
const DELETION_STREAM = 0x64_65_6c;
const VIGIL_STREAM = 0x76_69_67;
const STORMS_PER_VIGIL = 3;
/** All members but the leader, of four. */
const SILENT_FOLLOWERS = 3;
/** The first id of the steps that are drawn in addition to the deck. */
const VIGIL_IDS = 1_000_000;
const STEPS_PER_VIGIL = 10;
const VIGIL_AT_MS = 500;
/**
 * The time in which a leader leaves and its process starts again, in ms. The bound counts from then
 * on.
 */
const GONE_MS = 6_000;
/** The part of these faults that hit a leader. */
const LEADER_RATIO = 0.65;

export function drawPlan(options: PlanOptions): Plan {
  const { seed, minutes } = options;
  const count = Math.max(1, Math.round((minutes * 60_000) / (STORM_MS + CALM_MS)));
  const stormMs = Math.max(20_000, (minutes * 60_000) / count - CALM_MS);
  const deck = new Deck(options);
  const storms = Array.from({ length: count }, () => ({ stormMs, steps: deck.storm(stormMs) }));
  return { seed, rounds: withVigils(withFailover(withOneDeletion(storms, seed), options.faults), options) };
}

const DELETIONS: ReadonlySet<string> = new Set(['deleteRecord', 'deleteEntry']);

/**
 * In one storm an operator deletes either records or entries, never both. If both are deleted, the
 * next candidate may claim while a leader whose watches are silent is still valid
 * (docs/operations.md). A draw of its own decides which.
 */
function withOneDeletion(rounds: readonly Round[], seed: number): readonly Round[] {
  const random = randomOf(seed ^ DELETION_STREAM);
  return rounds.map(({ stormMs, steps }) => {
    const drawn = new Set(steps.flatMap(({ fault }) => (DELETIONS.has(fault) ? [fault] : [])));
    const kept = [...drawn][Math.floor(random() * drawn.size)];
    const isDeletion = ({ fault }: Step): boolean => drawn.has(fault);
    return { stormMs, steps: steps.map((step) => (kept !== undefined && isDeletion(step) ? { ...step, fault: kept } : step)) };
  });
}

/**
 * After every few storms a vigil follows, drawn from a stream of its own: one thing fails for
 * longer than a new leader may take, and at that time only the leader leaves.
 */
function withVigils(rounds: readonly Round[], { seed, sickMs, silentMs, faults }: PlanOptions): readonly Round[] {
  const random = randomOf(seed ^ VIGIL_STREAM);
  const servers = faults.filter(({ on }) => on === 'server').map(({ name }) => name);
  const has = (name: string): boolean => faults.some((fault) => fault.name === name);
  return rounds.flatMap((round, index) => {
    if (index % STORMS_PER_VIGIL > 0) return [round];
    const [first, second] = [random(), random()];
    const aim = second < LEADER_RATIO ? 'leader' : Math.floor(second * 1_000);
    const server = servers[Math.floor(first * servers.length)];
    const isOfServer = server !== undefined && sickMs !== undefined && (silentMs === undefined || index % (2 * STORMS_PER_VIGIL) === 0);
    if (isOfServer) return [round, vigil(index, sickMs, [[server, aim]], has('crash') ? 'crash' : undefined)];
    if (silentMs === undefined || !has('silenceWatches')) return [round];
    const silent = Array.from({ length: SILENT_FOLLOWERS }, () => ['silenceWatches', 'follower'] as const);
    return [round, vigil(index, silentMs, silent, ['leave', 'crash'].find(has))];
  });
}

function vigil(index: number, boundMs: number, wrong: readonly (readonly [fault: string, aim: Aim])[], ends: string | undefined): Round {
  const lasts = boundMs + GONE_MS;
  const steps = wrong.map(([fault, aim]) => ({ at: VIGIL_AT_MS, fault, aim, for: lasts }));
  const gone = ends === undefined ? [] : [{ at: 2 * VIGIL_AT_MS, fault: ends, aim: 'leader' as const, for: VIGIL_AT_MS }];
  const id = VIGIL_IDS + index * STEPS_PER_VIGIL;
  return { stormMs: lasts + 2 * VIGIL_AT_MS, steps: [...steps, ...gone].map((step, nth) => ({ ...step, id: id + nth })) };
}

/**
 * A run without a failover proves nothing. If no fault was drawn that certainly causes one, the
 * first step does, while a member leads.
 */
function withFailover(rounds: readonly Round[], faults: readonly Fault[]): readonly Round[] {
  const names = faults.flatMap((fault) => (fault.on === 'member' && fault.endsLeadership === true ? [fault.name] : []));
  const isSure = ({ aim, fault }: Step): boolean => aim === 'leader' && names.includes(fault);
  const [name] = names;
  const [first, ...later] = rounds;
  const [step, ...rest] = first?.steps ?? [];
  if (name === undefined || first === undefined || step === undefined || rounds.some(({ steps }) => steps.some(isSure))) return rounds;
  return [{ ...first, steps: [{ ...step, fault: name, aim: 'leader' }, ...rest] }, ...later];
}

/** A description for people. */
export function tellRound({ steps }: Round): string {
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  return steps
    .map(
      ({ at, fault, aim, for: forMs }) =>
        `${seconds(at)} s ${fault}${typeof aim === 'string' ? ` of ${aim === 'leader' ? 'the leader' : 'a follower'}` : ''} (${seconds(forMs)} s)`,
    )
    .join(', ');
}

/**
 * Deals faults like cards, so that every fault comes once before any comes more often than its
 * weight.
 */
class Deck {
  readonly #options: PlanOptions;
  #cards: Fault[] = [];
  #steps = 0;

  constructor(options: PlanOptions) {
    this.#options = options;
  }

  storm(stormMs: number): readonly Step[] {
    const steps: Step[] = [];
    for (let at = this.#between(500, EVERY_MS); at < stormMs - EVERY_MS; at += this.#between(EVERY_MS / 2, EVERY_MS * 1.5)) {
      const fault = this.#draw();
      steps.push({ id: (this.#steps += 1), at: Math.round(at), fault: fault.name, aim: this.#aim(fault), for: this.#lasts() });
    }
    return steps;
  }

  #draw(): Fault {
    if (this.#cards.length === 0) this.#cards = this.#options.faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault));
    const [card] = this.#cards.splice(Math.floor(this.#options.random() * this.#cards.length), 1);
    if (card === undefined) throw new RangeError('there is no fault to draw: the store has none');
    return card;
  }

  #aim({ on }: Fault): Aim {
    const isAtLeader = on !== 'store' && this.#options.random() < LEADER_RATIO;
    return isAtLeader ? 'leader' : Math.floor(this.#options.random() * 1_000);
  }

  /** Shorter than a lease, about as long, or longer. */
  #lasts(): number {
    const { random, ttlMs } = this.#options;
    const [from, to] = random() < 0.35 ? [0.1, 0.9] : random() < 0.6 ? [0.9, 1.6] : [1.6, 3.2];
    return Math.round(ttlMs * (from + random() * (to - from)));
  }

  #between(from: number, to: number): number {
    return from + this.#options.random() * (to - from);
  }
}
