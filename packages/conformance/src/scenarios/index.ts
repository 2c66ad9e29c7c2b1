import type { StoreCase } from '../case.ts';
import { akkaCases } from './akka.ts';
import { clientGoCases } from './client-go.ts';
import { tryCases } from './consul.ts';
import { latchCases } from './curator-latch.ts';
import { selectorCases } from './curator-selector.ts';
import { etcdCases } from './etcd.ts';
import { flapCases } from './flaps.ts';
import { jepsenCases } from './jepsen.ts';
import { kazooCases } from './kazoo.ts';
import { observeScenarios } from './observe.ts';

export { clusterCases } from './clusters.ts';
export { outageCases } from './outages.ts';

/** What other projects' own suites ask of an election, each under the name that it has there. They may share one store. */
export const scenarioCases: readonly StoreCase[] = [
  // The longest first: where cases run side by side, they are over the sooner.
  ...flapCases,
  ...latchCases,
  ...selectorCases,
  ...kazooCases,
  ...etcdCases,
  ...observeScenarios,
  ...tryCases,
  ...clientGoCases,
  ...akkaCases,
  ...jepsenCases,
];
