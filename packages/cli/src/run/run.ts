/** `incumbent run`: a program that runs only while this process leads. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { Member, type Election, type Leadership, type Store } from '@incumbent/core';
import { reaper } from '@incumbent/reaper';
import { Monitor } from 'incumbent/monitor';

import { CliError, Exit, toCliError, usageError } from '../exit.ts';
import { openUrl, storeUrl, type StoreOptions } from '../store.ts';
import type { Surroundings } from '../surroundings.ts';
import { checkProgram } from './find-program.ts';
import { pagesOf, startHealthServer, type HealthAddress, type HealthServer } from './health.ts';
import { RunLog, type Verbosity } from './log.ts';
import type { ProgramEnd } from './process-group.ts';
import { Signals } from './signals.ts';
import { runStint } from './stint.ts';
import { runTiming, type RunTiming } from './timing.ts';

export interface RunOptions extends StoreOptions {
  readonly election: string;
  readonly member?: string;
  readonly value?: unknown;
  readonly ttl?: number;
  readonly grace?: number;
  readonly stopTimeout: number;
  readonly once?: boolean;
  readonly restart?: boolean;
  readonly healthPort?: HealthAddress;
  readonly acceptWeakStore?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** The pause before another campaign after a program that ended: doubled while programs end within the longest. */
const RESTART_MS = 1_000;
const LONGEST_RESTART_MS = 30_000;

/** Resolves with the exit code: the program's own, or one of `Exit`. */
export async function run(command: readonly string[], options: RunOptions, surroundings: Surroundings): Promise<number> {
  const log = new RunLog(surroundings.err, verbosityOf(options));
  const signals = new Signals();
  try {
    return await new Run(command, options, surroundings, signals, log).toEnd();
  } catch (error) {
    const { exitCode, message } = toCliError(error);
    log.error(message);
    return exitCode < Exit.LOST ? Exit.RUN_FAILED : exitCode;
  } finally {
    signals.close();
  }
}

function verbosityOf({ quiet, verbose }: RunOptions): Verbosity {
  if (quiet === true) return 'quiet';
  return verbose === true ? 'verbose' : 'normal';
}

class Run {
  readonly #command: readonly string[];
  readonly #options: RunOptions;
  readonly #surroundings: Surroundings;
  readonly #signals: Signals;
  readonly #log: RunLog;
  /** Ends the program if this process dies, or stands still for too long; and then, if it died, its lease. */
  readonly #reaper = reaper();
  /** Ends the campaign, when no program runs. */
  readonly #over = new AbortController();
  #runs = false;
  #outcome: ProgramEnd | 'lost' | undefined;

  constructor(command: readonly string[], options: RunOptions, surroundings: Surroundings, signals: Signals, log: RunLog) {
    if (options.once === true && options.restart === true) throw usageError('--once and --restart exclude each other');
    this.#command = command;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#signals = signals;
    this.#log = log;
    signals.stopping.addEventListener('abort', () => {
      if (!this.#runs) this.#over.abort();
    });
  }

  async toEnd(): Promise<number> {
    const { env } = this.#surroundings;
    const url = storeUrl(this.#options, this.#surroundings);
    if (url.startsWith('memory:')) throw usageError('a store in memory is of this process alone: nobody else could take part');
    checkProgram(this.#command[0] ?? '', env['PATH']);
    const store = await openUrl(outliving(url), this.#surroundings);
    try {
      return await this.#onStore(store);
    } finally {
      await store.close();
    }
  }

  async #onStore(store: Store): Promise<number> {
    const { ttl, grace, member: memberId = ownName(), election: name, value, acceptWeakStore } = this.#options;
    const timing = runTiming(ttl, grace, store);
    const { ttlMs, drainMs } = timing;
    using monitor = new Monitor();
    const member = new Member(store, { memberId, ttlMs, drainMs, logger: this.#log.logger, reaper: this.#reaper });
    let health: HealthServer | undefined;
    try {
      const weak = acceptWeakStore === undefined ? {} : { acceptWeakStore };
      const election = member.election(name, { value, ...weak });
      health = await this.#startHealth(monitor, member, election);
      this.#log.campaigning(name, memberId, store.name);
      return await this.#campaigns(election, timing);
    } finally {
      await health?.close();
      await member.close();
    }
  }

  async #startHealth(monitor: Monitor, member: Member, election: Election): Promise<HealthServer | undefined> {
    const { healthPort } = this.#options;
    if (healthPort === undefined) return undefined;
    const facts = (): Readonly<Record<string, unknown>> => ({
      election: election.name,
      member: member.memberId,
      leads: election.leadership !== undefined,
      term: election.leadership?.term ?? null,
      validForMs: Math.round(election.leadership?.remainingMs() ?? 0),
      programRuns: this.#runs,
    });
    return startHealthServer(healthPort, pagesOf(monitor, member, facts));
  }

  async #campaigns(election: Election, timing: RunTiming): Promise<number> {
    for (let delayMs = RESTART_MS; ; delayMs = Math.min(delayMs * 2, LONGEST_RESTART_MS)) {
      const begun = performance.now();
      const end = await this.#once(election, timing);
      if (end === undefined) return this.#signals.code;
      if (end === 'lost') return Exit.LOST;
      const stops = this.#signals.stopping.aborted || this.#signals.hasPassed(end.signal);
      if (this.#options.restart !== true || stops) return end.code;
      if (performance.now() - begun > LONGEST_RESTART_MS) delayMs = RESTART_MS;
      this.#log.restarting(delayMs);
      await sleep(delayMs, undefined, { signal: this.#over.signal }).catch(() => {});
      if (this.#over.signal.aborted) return end.code;
    }
  }

  /** Campaigns until a program has ended by itself. Undefined where a signal came before there was any. */
  async #once(election: Election, timing: RunTiming): Promise<ProgramEnd | 'lost' | undefined> {
    this.#outcome = undefined;
    try {
      return await election.lead((leadership) => this.#lead(leadership, election.name, timing), { signal: this.#over.signal });
    } catch (error) {
      if (!this.#over.signal.aborted || error instanceof CliError) throw error;
      return this.#outcome;
    }
  }

  async #lead(leadership: Leadership, election: string, timing: RunTiming): Promise<ProgramEnd> {
    const { stopTimeout } = this.#options;
    const { env } = this.#surroundings;
    this.#runs = true;
    this.#log.leading(election, leadership.term, this.#command[0] ?? '');
    try {
      const end = await runStint(leadership, {
        command: this.#command,
        env,
        election,
        timing,
        stopTimeoutMs: stopTimeout,
        signals: this.#signals,
        log: this.#log,
        bindGroup: (group) => this.#reaper.bindGroup(group),
      });
      const isLost = !leadership.isValid() && this.#options.once === true;
      // Otherwise it campaigns on, and what ends that has nothing to do with this program any more.
      if (isLost || this.#signals.stopping.aborted) {
        this.#outcome = this.#signals.stopping.aborted ? end : 'lost';
        this.#over.abort();
      }
      return end;
    } finally {
      this.#runs = false;
    }
  }
}

/** The death of this process must not end its lease while the program lives: whoever ends the program ends the lease. */
function outliving(url: string): string {
  if (!url.startsWith('sqlite:') || url.includes('endsWithProcess=')) return url;
  return `${url}${url.includes('?') ? '&' : '?'}endsWithProcess=false`;
}

/** Another for every start: a restarted process does not wait for its former self. */
function ownName(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9.-]/g, '-')
    .slice(0, 64);
  return `${host}-${randomBytes(3).toString('hex')}`;
}
