/**
 * What can be done to a run. Each fault is a value in a file with its like; the nemesis knows
 * nothing of them but this.
 */

import type { Faults } from '@incumbent/test-support';
import type { CrewMember } from '../crew.ts';
import type { Site } from '../site/site.ts';

/** Mends what was done. Awaited when the fault's time is over, and before a calm. */
export type Mend = () => Promise<void> | void;

interface Common {
  readonly name: string;
  /** How many of these among one deck of faults. */
  readonly weight: number;
  /** Whether it can be done to this store, here. */
  readonly appliesTo: (site: Site, means: Means) => boolean;
}

/** What the machine has. */
export interface Means {
  /** Whether processes' wall clocks can be set. */
  readonly fakeClock: boolean;
}

export interface MemberFault extends Common {
  readonly on: 'member';
  /** A leader that it hits leads no more, however long it lasts. */
  readonly endsLeadership?: true;
  /**
   * Begins it; throws, or gives undefined, where there was nothing to hit. `forMs` is how long it
   * will last.
   */
  readonly begin: (member: CrewMember, forMs: number, random: () => number) => Promise<Mend | undefined>;
}

export interface ServerFault extends Common {
  readonly on: 'server';
  /** The only server that it can hit, by its index; any by default. */
  readonly only?: (site: Site) => number | undefined;
  readonly begin: (server: Faults, site: Site, index: number, random: () => number) => Promise<Mend | undefined>;
}

/** Over as soon as it is done, whatever the plan says: awaited by its mend. */
export interface StoreFault extends Common {
  readonly on: 'store';
  /** What it hits, as the history names it: one fault at a time does. */
  readonly target: 'record' | 'servers';
  /** `isOver`: a calm has come. */
  readonly begin: (site: Site, isOver: () => boolean) => Promise<Mend | undefined>;
}

export type Fault = MemberFault | ServerFault | StoreFault;
