/**
 * A fake machine with processes and a manual clock, and a harness that runs a reaper loop on it.
 */

import type { OpenRevoker, TimedCall } from '@incumbent/core';
import type { ProcessStat } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';

import type { ParentMessage } from '../src/messages.ts';
import { ReaperLoop } from '../src/process/reaper-loop.ts';
import { Revokers } from '../src/process/revokers.ts';
import type { System } from '../src/system.ts';

export const PARENT = 100;

type Writable = { -readonly [K in keyof ProcessStat]: ProcessStat[K] };

interface Process extends Writable {
  /** SIGKILL does not end it, as in an uninterruptible sleep. */
  stuck: boolean;
  /** Its state cannot be read from `/proc`. */
  hidden: boolean;
}

export class FakeMachine implements System {
  readonly clock: ManualClock = new ManualClock();
  readonly table: Map<number, Process> = new Map();
  /** Kills, revocations and closes, in order. */
  readonly log: string[] = [];
  /** The errors of the next revocations. */
  readonly failures: Error[] = [];
  /** The options of every revocation. */
  readonly calls: TimedCall[] = [];
  isLinux = true;
  /** Whether the reaper may send signals to the processes. */
  isAllowed = true;

  constructor() {
    this.start(PARENT, {});
  }

  start(pid: number, process: Partial<Process>): void {
    this.table.set(pid, { state: 'S', group: pid, threads: 1, started: '1', stuck: false, hidden: false, ...process });
  }

  set(pid: number, process: Partial<Process>): void {
    Object.assign(this.table.get(pid) ?? {}, process);
  }

  signal(pid: number, signal: 'SIGKILL' | 0): 'sent' | 'absent' | 'denied' {
    const targets = [...this.table].filter(([id, { group }]) => (pid < 0 ? group === -pid : id === pid));
    if (targets.length === 0) return 'absent';
    if (!this.isAllowed) return 'denied';
    if (signal !== 0) this.log.push(`kill ${pid}`);
    for (const [id, { stuck }] of targets) if (signal !== 0 && !stuck) this.table.delete(id);
    return 'sent';
  }

  stat(pid: number): ProcessStat | undefined {
    const found = this.table.get(pid);
    return found === undefined || found.hidden || !this.isLinux ? undefined : found;
  }

  processes(): readonly number[] | undefined {
    return this.isLinux ? [...this.table].flatMap(([pid, { hidden }]) => (hidden ? [] : [pid])) : undefined;
  }

  /** Loads the revoker of a store that records every call. */
  readonly load = async (): Promise<OpenRevoker> => async (access) => ({
    revoke: async (ticket, options) => {
      this.calls.push(options);
      const failure = this.failures.shift();
      this.log.push(`${failure === undefined ? 'revoked' : 'failed'} ${access}/${ticket}`);
      if (failure !== undefined) throw failure;
    },
    close: async () => void this.log.push('closed'),
  });
}

/** A reaper loop on a fake machine, and methods that send the parent's messages. */
export class LoopHarness {
  readonly machine: FakeMachine = new FakeMachine();
  readonly loop: ReaperLoop;
  /** Whether the loop has ended. */
  hasEnded = false;
  isOrphan = false;

  constructor() {
    this.loop = new ReaperLoop({
      system: this.machine,
      revokers: new Revokers(this.machine.clock, this.machine.load),
      isOrphan: () => this.isOrphan,
    });
    void this.loop.run().then(() => (this.hasEnded = true));
  }

  /** A harness whose parent has announced itself and a store. */
  static async start(): Promise<LoopHarness> {
    const harness = new LoopHarness();
    await harness.send({ type: 'parent', pid: PARENT, started: '1' }, { type: 'store', store: 1, module: 'm', access: 'store' });
    return harness;
  }

  /** A harness whose parent has announced the lease 1 as well, safe for 8 s. */
  static async withLease(): Promise<LoopHarness> {
    const harness = await LoopHarness.start();
    await harness.lease(1, 8_000);
    return harness;
  }

  async send(...messages: readonly ParentMessage[]): Promise<void> {
    for (const message of messages) this.loop.receive(message);
    await this.advance(0);
  }

  /** A lease that is safe for `safeMs`, and expires 1 s later. */
  async lease(lease: number, safeMs: number, owner = 1): Promise<void> {
    const from = this.machine.clock.monotonic();
    await this.send({ type: 'lease', lease, store: 1, owner, ticket: `lease-${lease}`, from });
    await this.renew(lease, safeMs);
  }

  async renew(lease: number, safeMs: number): Promise<void> {
    const { clock } = this.machine;
    const [now, wall] = [clock.monotonic(), clock.wall()];
    await this.send({ type: 'renewed', lease, safeUntil: now + safeMs, wallSafeUntil: wall + safeMs, overBy: now + safeMs + 1_000 });
  }

  /** Binds a process group of `size` processes, whose first is `pid`. */
  async group(pid: number, size = 1, owner = 1): Promise<void> {
    for (let index = 0; index < size; index += 1) this.machine.start(pid + index, { group: pid, started: '7' });
    const { clock } = this.machine;
    await this.send({ type: 'group', pid, started: '7', owner, at: clock.monotonic(), wallAt: clock.wall() });
  }

  /** Ends the parent, which closes its end of the pipe. */
  async killParent(): Promise<void> {
    this.machine.table.delete(PARENT);
    this.loop.pipeClosed();
    await this.advance(0);
  }

  /** Ends the parent. A child of it keeps the pipe open. */
  killParentKeepingPipe(): void {
    this.machine.table.delete(PARENT);
    this.isOrphan = true;
  }

  async advance(ms: number): Promise<void> {
    await this.machine.clock.advance(ms);
  }
}
