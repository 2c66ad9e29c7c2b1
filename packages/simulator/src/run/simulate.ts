/** Runs a user's own program in many worlds: the entry point for tests. */

import { checkFunction, checkKnown, invalidOption } from '@incumbent/core/adapter';
import type { Violation } from '../check/checker.ts';
import type { Plan } from '../plan/plan.ts';
import { profileOf } from '../plan/profiles.ts';
import type { Program } from '../programs/program.ts';
import { run, type Run } from './run.ts';
import { shrink } from './shrink.ts';
import { Timeline } from './timeline.ts';

/**
 * What runs in one world. Create whatever the processes share besides the store, such as a
 * database, together with it.
 */
export interface ProgramUnderTest {
  /**
   * The program of one process, from its start until `self.stopping` aborts. A world starts two to
   * five processes, and restarts those that crash.
   */
  readonly member: Program;
  /**
   * Called when the world is over, to check the results. An error that it throws is a violation.
   * May be async: the machine's clock, timers and random numbers work again by then.
   */
  readonly check?: () => unknown;
}

/** Which worlds {@link simulate} runs. */
export interface SimulateOptions {
  /** The profile of the faults: `calm`, `stormy`, `adversarial`, … Default `stormy`. */
  readonly profile?: string;
  /** How many worlds to run, at least 1. Default 1,000. */
  readonly seeds?: number;
  /** The seed of the first world, at least 0. Default 1. */
  readonly start?: number;
  /** Runs this one world instead of those of seeds. */
  readonly plan?: Plan;
}

/** What happened in all worlds, if no promise was broken. */
export interface SimulationResult {
  readonly worlds: number;
  readonly simulatedMs: number;
  /** How many terms were issued in all worlds. */
  readonly terms: number;
  /** How often each event happened: `fault: crash`, `ended: deadline`, … */
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Thrown for a world in which a promise was broken. The message contains a timeline of the events,
 * and says how to run the world again.
 */
export class SimulationError extends Error {
  readonly seed: number;
  /** The plan of the world, reduced to the faults that are needed to break the promise. */
  readonly plan: Plan;
  readonly violations: readonly Violation[];

  constructor(message: string, plan: Plan, violations: readonly Violation[]) {
    super(message);
    this.name = 'SimulationError';
    this.seed = plan.seed;
    this.plan = plan;
    this.violations = violations;
  }
}

/** One world in this many is run twice to check that the program is deterministic. */
const TWICE_ONE_IN = 100;
/** The message contains this many lines of the timeline: the last ones. */
const SHOWN_LINES = 80;

/**
 * Runs a program in one world after the other. Each world is drawn from a seed, and `begin` is
 * called for each. While a world runs, `Date`, timers and `Math.random` throw: a program takes its
 * time and its random numbers from `self`, so that a seed always gives the same world.
 *
 * @throws {SimulationError} At the first world in which the program fails, leaves something behind,
 *   does not stop, breaks a promise of the SDK or fails its check.
 * @throws {RangeError} If there is no such profile.
 * @throws {TypeError} `INVALID_OPTION` if there is no such option, or `begin` returns no program.
 * @throws {Error} If no process was elected in any world.
 */
export async function simulate(begin: () => ProgramUnderTest, options: SimulateOptions = {}): Promise<SimulationResult> {
  const counts = new Map<string, number>();
  let [worlds, simulatedMs] = [0, 0];
  for (const plan of plansOf(options)) {
    const found = await runOnce(begin, plan);
    if (found.violations.length > 0) throw await failure(begin, found);
    if (plan.seed % TWICE_ONE_IN === 0) await replay(begin, found);
    worlds += 1;
    simulatedMs += found.run.figures.simulatedMs;
    for (const [name, count] of found.run.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const terms = counts.get('issued') ?? 0;
  if (terms === 0) throw new Error(`in ${worlds} worlds nobody was elected: does the program campaign, on self.store with self.options?`);
  return { worlds, simulatedMs, terms, counts };
}

function* plansOf(options: SimulateOptions): Generator<Plan> {
  checkKnown('simulate', options, ['profile', 'seeds', 'start', 'plan']);
  const { profile = 'stormy', seeds = 1_000, start = 1, plan } = options;
  const drawn = profileOf(profile);
  if (!(Number.isInteger(seeds) && seeds >= 1)) throw invalidOption('seeds', seeds, 'a whole number from 1');
  if (!(Number.isInteger(start) && start >= 0)) throw invalidOption('start', start, 'a whole number from 0');
  if (plan !== undefined) yield plan;
  else for (let seed = start; seed < start + seeds; seed += 1) yield forPrograms(drawn.plan(seed));
}

/**
 * Removes the faults that test the SDK instead of the program, such as a withdrawn permission,
 * which ends a program.
 */
function forPrograms(plan: Plan): Plan {
  const faults = plan.faults.map((fault) => (fault.kind === 'breakWatches' ? { ...fault, denied: false } : fault));
  return { ...plan, faults, shape: { ...plan.shape, observers: 0 } };
}

interface RunOutcome {
  readonly run: Run;
  readonly violations: readonly Violation[];
  readonly lines: readonly string[];
}

async function runOnce(begin: () => ProgramUnderTest, plan: Plan): Promise<RunOutcome> {
  const { member, check } = checkProgram(begin());
  const timeline = new Timeline();
  const ran = await run(plan, { programs: { member }, listener: timeline });
  const { mustBreak, mayBreak = [] } = profileOf(plan.profile);
  const broken = ran.violations.filter(({ promise }) => !mustBreak.includes(promise) && !mayBreak.includes(promise));
  return { run: ran, violations: [...broken, ...(await checked(check, ran.figures.simulatedMs))], lines: timeline.lines };
}

function checkProgram(program: ProgramUnderTest): Required<ProgramUnderTest> {
  if (typeof program !== 'object' || program === null || program instanceof Promise)
    throw invalidOption('the result of begin', program, 'an object with the functions member and check, and no promise');
  const { member, check = () => {} } = program;
  checkFunction('member', member);
  checkFunction('check', check);
  return { member, check };
}

async function checked(check: () => unknown, atMs: number): Promise<readonly Violation[]> {
  try {
    await check();
    return [];
  } catch (error) {
    return [{ promise: 'the check passes', atMs, what: error instanceof Error ? error.message : String(error) }];
  }
}

async function replay(begin: () => ProgramUnderTest, { run: { plan, hash }, lines }: RunOutcome): Promise<void> {
  const again = await runOnce(begin, plan);
  const longest = Math.max(lines.length, again.lines.length);
  const at = Array.from({ length: longest }).findIndex((_, index) => again.lines[index] !== lines[index]);
  if (again.run.hash === hash && at === -1) return;
  const what = `the program does not do the same in the same world: ${lines[at] ?? 'the end'}, and the second time ${again.lines[at] ?? 'the end'}`;
  throw new SimulationError(`seed ${plan.seed} of ${plan.profile}: ${what}`, plan, [
    { promise: 'the same seed is the same run', atMs: 0, what },
  ]);
}

async function failure(begin: () => ProgramUnderTest, { run: { plan }, violations }: RunOutcome): Promise<SimulationError> {
  const promise = violations[0]?.promise;
  const smallest = await shrink(plan, async (smaller) => (await runOnce(begin, smaller)).violations.some((one) => one.promise === promise));
  const found = await runOnce(begin, smallest);
  return new SimulationError(tell(plan, smallest, found), smallest, found.violations);
}

function tell({ seed, profile, faults }: Plan, smallest: Plan, { violations, lines }: RunOutcome): string {
  const left = lines.length > SHOWN_LINES ? [`… ${lines.length - SHOWN_LINES} lines before`] : [];
  return [
    `seed ${seed} of ${profile} breaks a promise:`,
    ...violations.map(({ promise, atMs, what }) => `  ${promise}: ${what} (at ${atMs} ms)`),
    `What happened, with ${smallest.faults.length} of its ${faults.length} faults:`,
    ...[...left, ...lines.slice(-SHOWN_LINES)].map((line) => `  ${line}`),
    `Again: simulate(…, { profile: '${profile}', start: ${seed}, seeds: 1 }); or keep the plan of this error, and give it as { plan }.`,
  ].join('\n');
}
