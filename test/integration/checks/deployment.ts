/** Processes of one program that a deployment replaces one by one, and their leaders. */

import assert from 'node:assert/strict';
import { checkHistory } from '@incumbent/conformance';
import { spawnScript, until, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import { historyOf } from '../history.ts';
import { at, termOf, WAIT_MS } from './pair.ts';

const PROCESS = new URL('../deployed.ts', import.meta.url);

/** The elections of a process. They differ only in their succession. */
const ELECTIONS = ['newest', 'oldest', 'plain'] as const;
type ElectionName = (typeof ELECTIONS)[number];

interface FleetOptions {
  /** Whether the processes run on the packages as they were last built. Default false. */
  readonly built?: boolean;
  /** The elections in which each process campaigns. Default all. */
  readonly elections?: readonly ElectionName[];
}

interface Deployed {
  readonly name: string;
  readonly version: string;
  readonly script: ScriptProcess;
}

interface Elected {
  readonly name: string;
  readonly version: string;
  readonly term: bigint;
  readonly at: number;
}

/** What one deployment did to the leaders. */
export interface DeploymentResult {
  /** How often each election had a new leader. */
  readonly changes: Readonly<Record<ElectionName, number>>;
  /** The time from the end of each leadership to the start of the next one, in ms. */
  readonly vacanciesMs: readonly number[];
}

/** A number of processes of one version, each of which is in the queue of every election. */
export class DeployedFleet implements AsyncDisposable {
  readonly #url: string;
  readonly #built: boolean;
  readonly #elections: readonly ElectionName[];
  readonly #all: Deployed[] = [];
  /** In the order in which they joined. */
  #present: Deployed[] = [];

  constructor(url: string, { built = false, elections = ELECTIONS }: FleetOptions = {}) {
    this.#url = url;
    this.#built = built;
    this.#elections = elections;
  }

  async start(size: number, version: string): Promise<void> {
    for (let count = 0; count < size; count += 1) await this.#add(version);
  }

  /**
   * Replaces each process: starts one of the new version, waits until it is in the queues, and then
   * stops one of the former version. `order` returns the order in which these are stopped.
   */
  async deploy(version: string, order: <T>(joined: readonly T[]) => readonly T[]): Promise<DeploymentResult> {
    const before = this.#lastTerms();
    const old = order(this.#present);
    let lastStopAt = -Infinity;
    for (const one of old) {
      await this.#add(version);
      lastStopAt = Number(process.hrtime.bigint()) / 1e6;
      one.script.sigterm();
      await one.script.waitFor('closed', { withinMs: WAIT_MS });
      assert.equal(await one.script.exited, 0, one.script.output.join('\n'));
      this.#present = this.#present.filter((other) => other !== one);
    }
    await this.#untilLed();
    const first = this.#electedIn('oldest').find((elected) => elected.version === version);
    const isTooEarly = this.#elections.includes('oldest') && (first === undefined || first.at <= lastStopAt);
    assert.ok(!isTooEarly, 'with oldest, a new process led before the last old one was stopped');
    const changes = { newest: 0, oldest: 0, plain: 0 };
    const vacanciesMs: number[] = [];
    for (const election of this.#elections) {
      const elected = this.#electedIn(election).filter(({ term }) => term > before[election]);
      changes[election] = elected.length;
      vacanciesMs.push(...elected.map((one) => one.at - this.#abortedAt(election, before[election], one.term)));
    }
    return { changes, vacanciesMs };
  }

  /** Stops all processes. Throws if their histories break a promise, or if one has printed. */
  async finish(): Promise<void> {
    for (const { script } of this.#present) script.sigterm();
    await Promise.all(this.#all.map(({ script }) => script.exited));
    const histories = this.#all.flatMap(({ name, script }) =>
      this.#elections.flatMap((election) => historyOf({ events: eventsOf(script, election) }, name, election)),
    );
    assert.deepEqual(checkHistory(histories), []);
    assert.deepEqual(
      this.#all.flatMap(({ script }) => [...script.output, ...script.events.filter(({ event }) => event === 'failed')]),
      [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map(({ script }) => script[Symbol.asyncDispose]()));
  }

  async #add(version: string): Promise<void> {
    const name = `p${this.#all.length}`;
    const script = await spawnScript(PROCESS, { args: [this.#url, name, version, ...this.#elections], built: this.#built });
    const added = { name, version, script };
    this.#all.push(added);
    await until(
      () => this.#elections.every((election) => eventsOf(script, election).some(({ event }) => event === 'elected' || event === 'waiting')),
      {
        what: `${name} is in the queues`,
        withinMs: WAIT_MS,
      },
    );
    this.#present = [...this.#present, added];
  }

  /** Resolves when a present process leads each election. */
  async #untilLed(): Promise<void> {
    const names = new Set(this.#present.map(({ name }) => name));
    const isLed = (election: ElectionName): boolean => names.has(this.#electedIn(election).at(-1)?.name ?? '');
    await until(() => this.#elections.every(isLed), { what: 'each election is led', withinMs: WAIT_MS });
  }

  #lastTerms(): Readonly<Record<ElectionName, bigint>> {
    const last = (election: ElectionName): bigint => this.#electedIn(election).at(-1)?.term ?? 0n;
    return { newest: last('newest'), oldest: last('oldest'), plain: last('plain') };
  }

  /** The leaders of an election so far, in the order of their terms. */
  #electedIn(election: ElectionName): readonly Elected[] {
    const elected = this.#all.flatMap(({ name, version, script }) =>
      eventsOf(script, election)
        .filter(({ event }) => event === 'elected')
        .map((event) => ({ name, version, term: termOf(event), at: at(event) })),
    );
    return elected.toSorted((a, b) => (a.term < b.term ? -1 : 1));
  }

  /** When the leadership before this term ended. */
  #abortedAt(election: ElectionName, from: bigint, term: bigint): number {
    const previous = this.#electedIn(election).findLast((one) => one.term < term && one.term >= from);
    const aborted = this.#all
      .flatMap(({ script }) => eventsOf(script, election))
      .find((event) => event.event === 'aborted' && termOf(event) === previous?.term);
    assert.ok(aborted !== undefined, `the leadership before term ${term} of ${election} has ended`);
    return at(aborted);
  }
}

function eventsOf(script: ScriptProcess, election: ElectionName): readonly ScriptEvent[] {
  return script.events.filter(({ fields }) => fields['election'] === election);
}
