/**
 * The work of `incumbent run`: campaigns, and runs the program in every term that this process
 * leads.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { Member, type Leadership, type Store } from '@incumbent/core';
import { reaper } from '@incumbent/reaper';
import { SlotElection } from 'incumbent';
import { Monitor } from 'incumbent/monitor';

import { CliError, Exit, toCliError, usageError } from '../exit.ts';
import { newMemberId, sharedStoreUrl } from '../common/member.ts';
import { openUrl, sayWhileWaiting, storeUrl, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { checkProgram } from './find-program.ts';
import { pagesOf, startHealthServer, type HealthAddress, type HealthServer } from './health.ts';
import { RunLog, type Verbosity } from './log.ts';
import { NotStarted, type ProgramEnd } from './process-group.ts';
import { Readiness } from './readiness.ts';
import { restartDelayMs } from './restart-delay.ts';
import { Signals } from './signals.ts';
import { runTerm } from './term-run.ts';
import { runTiming, type RunTiming } from './timing.ts';

export interface RunOptions extends StoreOptions {
  readonly election: string;
  readonly member?: string;
  readonly slots?: number;
  readonly value?: unknown;
  readonly ttl?: number;
  readonly grace?: number;
  readonly stopTimeout: number;
  /** In ms. Without it, `run` waits until the store can be reached. */
  readonly storeWait?: number;
  readonly once?: boolean;
  readonly restart?: boolean;
  readonly healthPort?: HealthAddress;
  readonly acceptWeakStore?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Resolves with the exit code: the program's own, or one of `Exit`. */
export async function run(command: readonly string[], options: RunOptions, context: CliContext): Promise<number> {
  const log = new RunLog(context.err, verbosityOf(options));
  const signals = new Signals();
  try {
    return await new Supervisor(command, options, context, signals, log).run();
  } catch (error) {
    const { exitCode, text } = toCliError(error);
    log.error(text);
    return exitCode < Exit.LOST ? Exit.RUN_FAILED : exitCode;
  } finally {
    signals.close();
  }
}

function verbosityOf({ quiet, verbose }: RunOptions): Verbosity {
  if (quiet === true) return 'quiet';
  return verbose === true ? 'verbose' : 'normal';
}

function slotOf(leadership: (Leadership & { readonly slot?: number }) | undefined): number | null {
  return leadership?.slot ?? null;
}

/** What this command uses of an election, with slots or without. */
interface RunElection {
  readonly name: string;
  readonly leadership: Leadership | undefined;
  lead<T>(
    work: (leadership: Leadership & { readonly slot?: number }) => Promise<T>,
    options: { signal: AbortSignal },
  ): Promise<T | undefined>;
}

class Supervisor {
  readonly #command: readonly string[];
  readonly #options: RunOptions;
  readonly #context: CliContext;
  readonly #signals: Signals;
  readonly #log: RunLog;
  readonly #memberId: string;
  /**
   * Kills the program if this process dies or is paused for too long; after a death it also revokes
   * the lease.
   */
  readonly #reaper = reaper();
  /** Aborts the campaign. Not aborted while a program runs. */
  readonly #stopCampaign = new AbortController();
  /** Undefined before the store is open. */
  #election: RunElection | undefined;
  #isProgramRunning = false;
  /** The result if a signal ends the campaign. Undefined: no program has ended by itself. */
  #outcome: ProgramEnd | 'lost' | undefined;

  constructor(command: readonly string[], options: RunOptions, context: CliContext, signals: Signals, log: RunLog) {
    if (options.once === true && options.restart === true) throw usageError('--once and --restart cannot both be given');
    this.#command = command;
    this.#options = options;
    this.#context = context;
    this.#signals = signals;
    this.#log = log;
    this.#memberId = options.member ?? newMemberId();
    signals.stopping.addEventListener('abort', () => {
      if (!this.#isProgramRunning) this.#stopCampaign.abort();
    });
  }

  async run(): Promise<number> {
    const { env } = this.#context;
    // The reaper ends the lease, after it has killed the program.
    const url = sharedStoreUrl(storeUrl(this.#options, this.#context));
    checkProgram(this.#command[0] ?? '', env['PATH']);
    // Before the member, whose events it counts.
    using monitor = new Monitor();
    using readiness = new Readiness();
    await using _ = await this.#startHealth(monitor, readiness);
    const store = await this.#openStore(url, readiness);
    if (store === undefined) return this.#signals.code;
    try {
      return await this.#runOnStore(store, readiness);
    } finally {
      await store.close();
    }
  }

  /** Waits until the store can be reached. Undefined if a signal came first. */
  async #openStore(url: string, readiness: Readiness): Promise<Store | undefined> {
    const { stopping } = this.#signals;
    const waitMs = this.#options.storeWait ?? Infinity;
    const say = sayWhileWaiting((why) => this.#log.waitingForStore(why));
    const onRetry = (error: unknown): void => {
      readiness.storeFailed(error);
      say(error);
    };
    try {
      return await openUrl(url, this.#context, { waitMs, signal: stopping, onRetry });
    } catch (error) {
      if (stopping.aborted) return undefined;
      throw error;
    }
  }

  async #runOnStore(store: Store, readiness: Readiness): Promise<number> {
    const { ttl, grace, election: name, slots, value, acceptWeakStore } = this.#options;
    const timing = runTiming(ttl, grace, store);
    const { ttlMs, drainMs } = timing;
    const member = new Member(store, { memberId: this.#memberId, ttlMs, drainMs, logger: this.#log.logger, reaper: this.#reaper });
    readiness.follow(member);
    try {
      const election: RunElection =
        slots === undefined
          ? member.election(name, { value, acceptWeakStore })
          : new SlotElection(member, name, { slots, value, acceptWeakStore });
      this.#election = election;
      this.#log.campaigning(name, this.#memberId, store.name);
      return await this.#campaignRepeatedly(election, timing);
    } finally {
      await member.close();
    }
  }

  async #startHealth(monitor: Monitor, readiness: Readiness): Promise<HealthServer | undefined> {
    const { healthPort, election, slots } = this.#options;
    if (healthPort === undefined) return undefined;
    const facts = (): Readonly<Record<string, unknown>> => ({
      election,
      member: this.#memberId,
      leads: this.#election?.leadership !== undefined,
      term: this.#election?.leadership?.term ?? null,
      ...(slots === undefined ? {} : { slot: slotOf(this.#election?.leadership) }),
      validForMs: Math.round(this.#election?.leadership?.remainingMs() ?? 0),
      programRuns: this.#isProgramRunning,
    });
    const refused = (message: string): void => this.#log.error(`--health-port: ${message}`);
    return startHealthServer(healthPort, pagesOf(monitor, readiness, facts), refused);
  }

  async #campaignRepeatedly(election: RunElection, timing: RunTiming): Promise<number> {
    let delayMs: number | undefined;
    for (;;) {
      const end = await this.#campaignOnce(election, timing);
      if (end === undefined) return this.#signals.code;
      if (end === 'lost') return Exit.LOST;
      const isStopped = this.#signals.stopping.aborted || this.#signals.hasPassed(end.signal);
      if (this.#options.restart !== true || isStopped) return end.code;
      delayMs = restartDelayMs(delayMs, end);
      this.#log.restarting(delayMs);
      await sleep(delayMs, undefined, { signal: this.#stopCampaign.signal }).catch(() => {});
      if (this.#stopCampaign.signal.aborted) return end.code;
    }
  }

  /**
   * Campaigns until a program has ended by itself. Undefined if a signal came before a program
   * started. With `--restart`, a program that cannot be started for the moment counts as one that
   * has ended: meanwhile another machine may lead, and start it.
   */
  async #campaignOnce(election: RunElection, timing: RunTiming): Promise<ProgramEnd | 'lost' | undefined> {
    this.#outcome = undefined;
    try {
      return await election.lead((leadership) => this.#runProgram(leadership, election.name, timing), {
        signal: this.#stopCampaign.signal,
      });
    } catch (error) {
      if (error instanceof NotStarted && error.isTemporary && this.#options.restart === true) {
        this.#log.error(error.text);
        return { code: error.exitCode, signal: undefined, ranMs: 0 };
      }
      if (!this.#stopCampaign.signal.aborted || error instanceof CliError) throw error;
      return this.#outcome;
    }
  }

  async #runProgram(leadership: Leadership & { readonly slot?: number }, election: string, timing: RunTiming): Promise<ProgramEnd> {
    const { stopTimeout } = this.#options;
    const { env } = this.#context;
    this.#isProgramRunning = true;
    this.#log.leading(leadership.slot === undefined ? election : `${election}.${leadership.slot}`, leadership.term, this.#command[0] ?? '');
    try {
      const end = await runTerm(leadership, {
        command: this.#command,
        env,
        election,
        slot: leadership.slot,
        timing,
        stopTimeoutMs: stopTimeout,
        signals: this.#signals,
        log: this.#log,
        bindGroup: (group) => this.#reaper.bindGroup(group),
      });
      const isStopping = this.#signals.stopping.aborted;
      // A program that ended because it had lost the leadership decides nothing: the campaign goes
      // on.
      if (isStopping || leadership.isValid()) this.#outcome = end;
      else if (this.#options.once === true) this.#outcome = 'lost';
      if (isStopping || this.#outcome === 'lost') this.#stopCampaign.abort();
      return end;
    } finally {
      this.#isProgramRunning = false;
    }
  }
}
