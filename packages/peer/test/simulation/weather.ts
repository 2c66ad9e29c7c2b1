/**
 * Causes the faults of a world during its storm, at set times or in response to an event. Ends all
 * lasting faults when the storm is over.
 */

import type { Scheduler, Stream } from '@incumbent/simulator/time';
import type { Safety } from '../../src/index.ts';
import type { Fault, FaultKind, Target, Trigger } from './faults.ts';
import type { Network } from './network.ts';
import type { SimulatedMember } from './simulated-member.ts';

/** The world that the faults change. */
export interface Site<S extends Safety> {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly members: readonly SimulatedMember<S>[];
  readonly random: Stream;
  /** The member that a fault's target `leader` means. */
  leader(): SimulatedMember<S> | undefined;
  injected(kind: FaultKind['kind']): void;
}

export class Weather<S extends Safety> {
  readonly #site: Site<S>;
  readonly #faults: readonly Fault[];
  readonly #waiting: ReadonlyMap<string, readonly Fault[]>;
  readonly #counts = new Map<Trigger, number>();
  readonly #mends = new Set<() => void>();
  #over = false;

  constructor(faults: readonly Fault[], site: Site<S>) {
    this.#site = site;
    this.#faults = faults;
    this.#waiting = Map.groupBy(faults, ({ when }) => ('on' in when ? `${when.on} ${when.nth}` : ''));
  }

  begin(): void {
    for (const fault of this.#faults)
      if ('atMs' in fault.when) this.#site.scheduler.at(fault.when.atMs, () => this.#inject(fault, undefined));
  }

  /** No fault is injected from now on. */
  end(): void {
    this.#over = true;
    for (const mend of [...this.#mends]) mend();
  }

  happened(trigger: Trigger, subject: string): void {
    if (this.#over) return;
    const nth = this.#counts.get(trigger) ?? 0;
    this.#counts.set(trigger, nth + 1);
    for (const fault of this.#waiting.get(`${trigger} ${nth}`) ?? []) {
      const afterMs = 'on' in fault.when ? fault.when.afterMs : 0;
      // Not within the step that triggers it, but before anything else happens, because messages
      // take time.
      this.#site.scheduler.after(afterMs, () => this.#inject(fault, subject));
    }
  }

  #inject(fault: Fault, subject: string | undefined): void {
    if (this.#over) return;
    const undo = this.#hit(fault, subject);
    if (undo === undefined) return;
    this.#site.injected(fault.kind);
    const mend = (): void => {
      if (this.#mends.delete(mend)) undo();
    };
    this.#mends.add(mend);
    if ('forMs' in fault) this.#site.scheduler.after(fault.forMs, mend);
  }

  /** Returns the function that ends the fault. Undefined: the fault had no target. */
  #hit(fault: FaultKind, subject: string | undefined): (() => void) | undefined {
    const member = 'target' in fault ? this.#find(fault.target, subject) : this.#site.members[0];
    if (member === undefined || !member.up) return undefined;
    switch (fault.kind) {
      case 'crash':
        member.crash(fault.writeLost);
        return () => member.start();
      case 'leave':
        member.leave();
        return () => member.start();
      case 'badDisk':
        member.failWrite(fault.writeLost);
        return () => member.start();
      case 'pause':
        return member.stand('paused');
      case 'block':
        return member.stand('blocked');
      case 'suspend':
        return member.stand('suspended');
      case 'withdraw':
        return member.withdraw();
      case 'isolate':
        return this.#site.network.isolate(member.id, fault.how);
      case 'blip':
        for (const other of this.#site.members) if (other !== member) other.crash(false);
        for (const other of this.#site.members) this.#site.scheduler.after(this.#site.random.below(10), () => other.start());
        return this.#site.network.isolate(member.id, 'both');
      case 'split':
        return this.#site.network.split(fault.side, fault.oneWay);
      case 'shatter': {
        const mends = fault.sides.map((side) => this.#site.network.split(side, false));
        return () => mends.forEach((mend) => mend());
      }
      case 'bridge':
        return this.#site.network.bridge(fault.side, member.id);
      case 'lossy':
        return this.#site.network.lose(fault.part);
      case 'duplicating':
        return this.#site.network.duplicate(fault.part);
      case 'slow':
        return this.#site.network.slow(fault.part, fault.byMs);
      case 'wallJump':
        member.run?.process.jumpWall(fault.byMs);
        return () => {};
      case 'setBack':
        return member.setBack(fault.byMs) ? () => {} : undefined;
      default:
        return fault satisfies never;
    }
  }

  #find(target: Target, subject: string | undefined): SimulatedMember<S> | undefined {
    if (target === 'leader') return this.#site.leader();
    return this.#site.members.find(({ id }) => id === (target === 'subject' ? subject : target));
  }
}
