/** A case: one claim about every store, as data. */

import type { StoreCapabilities } from '@incumbent/core';
import type { FaultKind, StoreHarness } from './harness.ts';

/** Groups cases in a report. */
export type Area = StoreArea | ElectionArea | ScenarioArea;
type StoreArea =
  | 'capabilities'
  | 'compareAndSwap'
  | 'leases'
  | 'queue'
  | 'reads'
  | 'watch'
  | 'unknown outcomes'
  | 'abort'
  | 'close'
  | 'operator';
/** The suite that a scenario comes from. */
type ScenarioArea = 'Curator' | 'kazoo' | 'etcd' | 'Consul' | 'client-go' | 'Akka' | 'Jepsen' | 'outages' | 'clusters';
type ElectionArea = 'election' | 'succession' | 'handover' | 'loss' | 'observer' | 'identity' | 'group';

/**
 * What a case needs of a store or its harness besides faults. If it is missing, the case does not
 * apply.
 */
export type Need =
  | 'linearizable'
  | 'assignableLease'
  | 'ownLeasesOnly'
  | 'revisionsSurviveDeletion'
  | 'operator'
  | 'sharedLeases'
  | 'leaks'
  | 'wire'
  | 'server'
  | 'cluster';

/** One claim, with the conditions under which it applies. */
export interface StoreCase {
  readonly area: Area;
  /** What every store must guarantee, in words. Unique within its area. */
  readonly name: string;
  readonly needs?: readonly Need[];
  /** The faults that the harness must offer. Default: none. */
  readonly faults?: readonly FaultKind[];
  /**
   * Runs the case.
   *
   * @throws {AssertionError} If the store breaks the guarantee. Rejects with any other error of the
   *   store or the harness as it is.
   */
  run(harness: StoreHarness): Promise<void>;
}

/** What the store or its harness lacks for this case. Empty if the case applies. */
export function lacking(needed: StoreCase, harness: StoreHarness, capabilities: StoreCapabilities): readonly string[] {
  const needs = (needed.needs ?? []).filter((need) => !offersNeed(need, harness, capabilities));
  const offered = harness.faulty === undefined ? [] : (harness.offers ?? []);
  const faults = (needed.faults ?? []).filter((fault) => !offered.includes(fault));
  return [...needs, ...faults.map((fault) => nameOf(fault, harness))];
}

function nameOf(fault: FaultKind, { impossible }: StoreHarness): string {
  const why = impossible?.[fault];
  return why === undefined ? `fault ${fault}` : `fault ${fault} (${why})`;
}

function offersNeed(need: Need, harness: StoreHarness, capabilities: StoreCapabilities): boolean {
  switch (need) {
    case 'linearizable':
      return capabilities.linearizable;
    case 'assignableLease':
      return capabilities.assignableLease;
    case 'ownLeasesOnly':
      return !capabilities.assignableLease;
    case 'revisionsSurviveDeletion':
      return capabilities.revisionsSurviveDeletion;
    case 'operator':
      return harness.operator !== undefined;
    case 'sharedLeases':
      return harness.sharedLeases === true;
    case 'leaks':
      return harness.leaks !== undefined;
    case 'wire':
      return harness.wire !== false;
    case 'server':
      return harness.server !== undefined;
    case 'cluster':
      return harness.cluster !== undefined;
    default:
      return need satisfies never;
  }
}
