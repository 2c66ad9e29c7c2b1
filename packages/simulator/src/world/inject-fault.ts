/** Implements the effect of each fault on the world. */

import type { Key } from '@incumbent/core';
import type { Actor } from './actor.ts';
import type { Fault } from '../plan/fault.ts';
import type { ProcessView } from './event.ts';
import type { Shape } from '../plan/plan.ts';
import type { Program } from '../programs/program.ts';
import type { ElectionTracker } from './election-tracker.ts';
import type { HeldLease } from '../store/leases.ts';
import type { Scheduler } from '../time/scheduler.ts';
import { operatorProgram, type OperatorRequest } from '../programs/operator-program.ts';
import { hasQueue, startHungCandidate, type HungCandidateWorld } from './hung-candidate.ts';

/** The parts of a world that faults change. */
interface FaultyWorld extends HungCandidateWorld {
  readonly scheduler: Scheduler;
  readonly shape: Shape;
  readonly tracker: ElectionTracker;
  start(id: string, options: { readonly program?: Program; readonly takesOver?: boolean }): Actor;
  restart(id: string): void;
  resumed(process: ProcessView): void;
}

type Of<K extends Fault['kind']> = Extract<Fault, { kind: K }>;
type ProcessFault = Of<'crash' | 'pause' | 'block' | 'suspend' | 'leave' | 'takeOver' | 'wallJump' | 'endLease'>;
type LinkFault = Of<
  'cut' | 'refuse' | 'stall' | 'stallWatches' | 'silenceConnections' | 'reset' | 'slow' | 'lossy' | 'loseReplies' | 'holdWrites'
>;
type StoreFault = Of<'breakWatches' | 'failover' | 'hangDisk' | 'hungCandidate' | 'deleteKey' | 'deleteEntry' | 'wipe'> | OperatorRequest;

/** Injects a fault into its target process, if it has one. */
export function injectFault(world: FaultyWorld, fault: Fault, target: Actor | undefined): void {
  if (!('target' in fault)) injectStoreFault(world, fault);
  else if (target === undefined) return;
  else if (isLinkFault(fault)) injectLinkFault(world, fault, target);
  else injectProcessFault(world, fault, target);
}

/**
 * Whether a fault changes anything now. A fault that stops a stopped process, or deletes a key that
 * does not exist, does not. Whether a reply is lost or a write is held shows only later, so these
 * faults count from the moment at which they are armed.
 */
export function takesEffect(world: FaultyWorld, fault: Fault, target: Actor | undefined): boolean {
  if (!('target' in fault)) return storeTakes(world, fault);
  if (target === undefined) return false;
  switch (fault.kind) {
    case 'pause':
    case 'block':
    case 'suspend':
      return target.process.runs;
    case 'endLease':
      return leasesOf(world, target).length > 0;
    default:
      return true;
  }
}

function storeTakes(world: FaultyWorld, fault: StoreFault): boolean {
  switch (fault.kind) {
    case 'breakWatches':
      return world.server.watches > 0;
    case 'hungCandidate':
      return hasQueue(world);
    case 'deleteKey':
      return keyToDelete(world, fault) !== undefined;
    case 'deleteEntry':
      return entryToDelete(world) !== undefined;
    case 'requestStepDown':
    case 'requestHandover':
      return world.tracker.first !== undefined;
    default:
      return true;
  }
}

const linkFaults: ReadonlySet<Fault['kind']> = new Set([
  'cut',
  'refuse',
  'stall',
  'stallWatches',
  'silenceConnections',
  'reset',
  'slow',
  'lossy',
  'loseReplies',
  'holdWrites',
]);

function isLinkFault(fault: LinkFault | ProcessFault): fault is LinkFault {
  return linkFaults.has(fault.kind);
}

/** A fault that does nothing would look like one that does no harm. */
function unknownFault(fault: never): RangeError {
  return new RangeError(`there is no such fault: ${JSON.stringify(fault)}`);
}

function injectProcessFault(world: FaultyWorld, fault: ProcessFault, target: Actor): void {
  switch (fault.kind) {
    case 'crash':
      target.kill();
      return world.repairAfter(fault.durationMs, () => world.restart(target.memberId));
    case 'pause':
      return stopFor(world, target, 'paused', fault.durationMs);
    case 'block':
      return stopFor(world, target, 'blocked', fault.durationMs);
    case 'suspend':
      return stopFor(world, target, 'suspended', fault.durationMs);
    case 'leave':
      target.stop();
      target.restartAfterMs = fault.durationMs;
      return undefined;
    case 'takeOver':
      world.start(target.memberId, { takesOver: true });
      return;
    case 'wallJump':
      return target.process.jumpWall(fault.byMs);
    case 'endLease':
      return endLeases(world, target, fault.by);
    default:
      throw unknownFault(fault);
  }
}

function stopFor(world: FaultyWorld, target: Actor, state: 'paused' | 'blocked' | 'suspended', durationMs: number): void {
  const { process } = target;
  const resume = target.halt(state);
  world.repairAfter(durationMs, () => {
    const stood = process.state === state;
    resume();
    if (stood && process.runs) world.resumed(process);
  });
}

function endLeases(world: FaultyWorld, target: Actor, by: 'operator' | 'store'): void {
  for (const { id } of leasesOf(world, target)) world.server.endLease(id, { by });
}

function leasesOf({ server }: FaultyWorld, { process }: Actor): readonly HeldLease[] {
  return server.leases.all().filter(({ owner }) => owner === process.name);
}

function injectLinkFault(world: FaultyWorld, fault: LinkFault, { client }: Actor): void {
  const { link } = client;
  switch (fault.kind) {
    case 'cut':
      return world.repairAfter(fault.durationMs, link.cut(fault.side));
    case 'refuse':
      return world.repairAfter(fault.durationMs, link.refuse());
    case 'stall':
      return world.repairAfter(fault.durationMs, link.stall());
    case 'stallWatches':
      return world.repairAfter(fault.durationMs, link.stallWatches());
    case 'silenceConnections':
      return link.silence();
    case 'reset':
      return link.reset();
    case 'slow':
      return world.repairAfter(fault.durationMs, link.slow(fault.byMs));
    case 'lossy':
      return world.repairAfter(fault.durationMs, link.lose(fault.ratio));
    case 'loseReplies':
      return client.loseReplies(fault.count, fault.operations);
    case 'holdWrites':
      return client.hold(Math.min(world.scheduler.nowMs + fault.durationMs, world.shape.stormMs), fault.operations);
    default:
      throw unknownFault(fault);
  }
}

function injectStoreFault(world: FaultyWorld, fault: StoreFault): void {
  const { server } = world;
  switch (fault.kind) {
    case 'breakWatches':
      return server.breakWatches(fault.part, fault.denied);
    case 'failover':
      return failOver(world, fault);
    case 'hangDisk':
      return world.repairAfter(fault.durationMs, server.hangDisk(fault));
    case 'hungCandidate':
      return startHungCandidate(world, fault.durationMs);
    case 'deleteKey':
      return deleteKey(world, fault);
    case 'deleteEntry':
      return deleteEntry(world);
    case 'requestStepDown':
    case 'requestHandover':
      return sendRequest(world, fault);
    case 'wipe':
      return server.wipe();
    default:
      throw unknownFault(fault);
  }
}

/** Starts an operator at the first election. Does nothing if no election has had a term. */
function sendRequest(world: FaultyWorld, request: OperatorRequest): void {
  const { first } = world.tracker;
  if (first === undefined) return;
  const { client } = world.start('operator', { program: (self) => operatorProgram(self, first, request) });
  client.loseReplies(request.lostReplies, ['compareAndSwap']);
}

function failOver({ server, scheduler }: FaultyWorld, { durationMs, lostMs }: Of<'failover'>): void {
  if (lostMs === undefined) return server.failOver(durationMs);
  const lost = server.snapshot();
  scheduler.after(lostMs, () => server.failOver(durationMs, lost));
}

function deleteEntry(world: FaultyWorld): void {
  const entry = entryToDelete(world);
  if (entry !== undefined) world.server.state.remove([entry], { by: 'operator' });
}

/**
 * The leader's entry, but only while the leader's record exists: the record prevents claims until
 * the leader has stopped.
 */
function entryToDelete({ tracker }: FaultyWorld): Key | undefined {
  const { entry } = tracker.holder ?? {};
  return entry !== undefined && tracker.isRecorded(entry) ? entry : undefined;
}

function deleteKey(world: FaultyWorld, fault: Of<'deleteKey'>): void {
  const key = keyToDelete(world, fault);
  if (key !== undefined) world.server.state.remove([key], { by: 'operator' });
}

/**
 * A key of that kind, except the entry that the term names. An operator who deletes that entry can
 * cause two leaders.
 */
function keyToDelete({ server, tracker }: FaultyWorld, { which, nth }: Of<'deleteKey'>): Key | undefined {
  const patterns = { leader: /\/leader$/, waiting: /\/candidates\//, member: /^members\//, group: /^groups\// };
  const keys = server.state.all().flatMap(({ key }) => (patterns[which].test(key) && !tracker.isHolding(key) ? [key] : []));
  return keys[nth % Math.max(keys.length, 1)];
}
