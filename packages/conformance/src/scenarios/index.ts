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

/**
 * Scenarios from the test suites of other projects, under their original names. They can share one
 * store.
 */
export const scenarioCases: readonly StoreCase[] = [
  // The longest first, so that cases that run in parallel finish sooner.
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
