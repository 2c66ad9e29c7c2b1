/** A machine of one's own: processes that can be killed, and a clock that stands still. */

import type { CallOptions, OpenRevoker } from '@incumbent/core';
import type { ProcessStat } from '@incumbent/core/adapter';
import { ManualClock } from '@incumbent/memory';

import type { Told } from '../src/messages.ts';
import { Office } from '../src/process/office.ts';
import { Revokers } from '../src/process/revokers.ts';
import type { System } from '../src/system.ts';

export const PARENT = 100;

type Writable = { -readonly [K in keyof ProcessStat]: ProcessStat[K] };

interface Process extends Writable {
  /** SIGKILL does not end it: it waits for a disk. */
  stuck: boolean;
  /** Its state cannot be read. */
  hidden: boolean;
}

export class World implements System {
  readonly clock: ManualClock = new ManualClock();
  readonly table: Map<number, Process> = new Map();
  /** What was done, in order. */
  readonly log: string[] = [];
  /** What the next revocations fail with. */
  readonly failures: Error[] = [];
  /** Calls that a store was given, and their time. */
  readonly calls: CallOptions[] = [];
  isLinux = true;

  constructor() {
    this.start(PARENT, {});
  }

  start(pid: number, process: Partial<Process>): void {
    this.table.set(pid, { state: 'S', group: pid, threads: 1, started: '1', stuck: false, hidden: false, ...process });
  }

  set(pid: number, process: Partial<Process>): void {
    Object.assign(this.table.get(pid) ?? {}, process);
  }

  signal(pid: number, signal: 'SIGKILL' | 0): 'sent' | 'absent' {
    const targets = [...this.table].filter(([id, { group }]) => (pid < 0 ? group === -pid : id === pid));
    if (targets.length === 0) return 'absent';
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

  /** The revoker of a store whose every call is written down. */
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

/** A reaper in it, and its parent's mouth. */
export class Stage {
  readonly world: World = new World();
  readonly office: Office;
  /** Whether it has ended. */
  isOver = false;
  isOrphan = false;

  constructor() {
    this.office = new Office({
      system: this.world,
      revokers: new Revokers(this.world.clock, this.world.load),
      isOrphan: () => this.isOrphan,
    });
    void this.office.run().then(() => (this.isOver = true));
  }

  /** A parent that has told of itself and of a store. */
  static async begun(): Promise<Stage> {
    const stage = new Stage();
    await stage.tell({ type: 'parent', pid: PARENT, started: '1' }, { type: 'store', store: 1, module: 'm', access: 'store' });
    return stage;
  }

  async tell(...messages: readonly Told[]): Promise<void> {
    for (const message of messages) this.office.take(message);
    await this.pass(0);
  }

  /** A lease that is safe for so long, and over 1 s later. */
  async lease(lease: number, safeMs: number, owner = 1): Promise<void> {
    await this.tell({ type: 'lease', lease, store: 1, owner, ticket: `lease-${lease}` });
    await this.renew(lease, safeMs);
  }

  async renew(lease: number, safeMs: number): Promise<void> {
    const { clock } = this.world;
    const [now, wall] = [clock.monotonic(), clock.wall()];
    await this.tell({ type: 'renewed', lease, safeUntil: now + safeMs, wallSafeUntil: wall + safeMs, overBy: now + safeMs + 1_000 });
  }

  /** A process group of so many, led by `pid`. */
  async group(pid: number, size = 1, owner = 1): Promise<void> {
    for (let index = 0; index < size; index += 1) this.world.start(pid + index, { group: pid, started: '7' });
    const { clock } = this.world;
    await this.tell({ type: 'group', pid, started: '7', owner, at: clock.monotonic(), wallAt: clock.wall() });
  }

  /** The parent dies, and with it its end of the pipe. */
  async die(): Promise<void> {
    this.world.table.delete(PARENT);
    this.office.hangUp();
    await this.pass(0);
  }

  async pass(ms: number): Promise<void> {
    await this.world.clock.advance(ms);
  }
}
