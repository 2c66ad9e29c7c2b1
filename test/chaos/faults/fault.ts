/**
 * The interface of faults. Each fault is a value in a file with similar ones. The nemesis knows
 * only this interface.
 */

import type { Faults } from '@incumbent/test-support';
import type { CrewMember } from '../crew.ts';
import type { Site } from '../site/site.ts';

/** Repairs the fault. Awaited when the fault's time is over, and before a calm. */
export type Mend = () => Promise<void> | void;

interface Common {
  readonly name: string;
  /** How often the fault is in one deck of faults. */
  readonly weight: number;
  /** Whether the fault is possible with this store on this machine. */
  readonly appliesTo: (site: Site, means: Means) => boolean;
}

/** The capabilities of the machine. */
export interface Means {
  /** Whether the wall clocks of processes can be set. */
  readonly fakeClock: boolean;
}

export interface MemberFault extends Common {
  readonly on: 'member';
  /** A leader that the fault hits stops leading, however long the fault lasts. */
  readonly endsLeadership?: true;
  /**
   * Begins the fault. Throws or resolves with undefined if there was nothing to hit. `forMs` is its
   * duration in ms.
   */
  readonly begin: (member: CrewMember, forMs: number, random: () => number) => Promise<Mend | undefined>;
}

export interface ServerFault extends Common {
  readonly on: 'server';
  /** The index of the only server that the fault can hit. Default: any server. */
  readonly only?: (site: Site) => number | undefined;
  readonly begin: (server: Faults, site: Site, index: number, random: () => number) => Promise<Mend | undefined>;
}

/**
 * A fault that ends as soon as its action is complete, whatever its planned duration. Its `Mend`
 * waits for that.
 */
export interface StoreFault extends Common {
  readonly on: 'store';
  /** The target's name in the history. One fault at a time hits it. */
  readonly target: 'record' | 'servers';
  /** `isOver` returns true once a calm has begun. */
  readonly begin: (site: Site, isOver: () => boolean) => Promise<Mend | undefined>;
}

export type Fault = MemberFault | ServerFault | StoreFault;
