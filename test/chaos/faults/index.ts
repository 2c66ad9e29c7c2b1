import type { Site } from '../site/site.ts';
import type { Fault, Means } from './fault.ts';
import { linkFaults } from './link.ts';
import { memberFaults } from './member.ts';
import { serverFaults } from './server.ts';

const all: readonly Fault[] = [...memberFaults, ...linkFaults, ...serverFaults];

/** All faults that are possible with this store on this machine. */
export function faultsFor(site: Site, means: Means): readonly Fault[] {
  return all.filter((fault) => fault.appliesTo(site, means));
}
