import assert from 'node:assert/strict';
import { isIncumbentError, type Entry } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { beginFault, breakable, recover, works, type Breakable } from '../breakable-client.ts';
import { connect, text, type Client } from '../client.ts';
import { casesOf, faultCasesOf } from '../define.ts';
import type { StoreHarness } from '../harness.ts';
import { times } from '../combinations.ts';
import { sleep } from '../time.ts';
import type { Watcher } from '../watcher.ts';

const define = casesOf('watch');
const defineFault = faultCasesOf('watch');

/** The faults that a watch notices, and says so. */
type SilentFault = 'cut' | 'silenceWatches';

type AnyWatcher = Pick<Watcher<unknown>, 'stale' | 'says' | 'goesStale'>;

/** Waits for the first state of each watch. Expects that none has called `onStale`. */
async function beginWatches(watches: readonly AnyWatcher[], { slackMs }: StoreHarness): Promise<void> {
  for (const each of watches) await each.says(1, slackMs);
  assertConfirmed(watches);
}

function isConfirmed(watches: readonly AnyWatcher[]): boolean {
  return watches.every(({ stale }) => stale.length === 0);
}

/** Expects that no watch has called `onStale`. */
function assertConfirmed(watches: readonly AnyWatcher[]): void {
  for (const { stale } of watches) assert.equal(stale.length, 0, `onStale was called on a healthy link: ${String(stale[0])}`);
}

/**
 * Waits until each watch has called `onStale`, on a link over which no state can arrive. Expects
 * that each has called it once, also after further attempts to connect, and with an error of the
 * contract.
 */
async function goStaleOnce(
  watches: readonly AnyWatcher[],
  { noticesWithinMs }: Breakable,
  { clock, slackMs }: StoreHarness,
): Promise<void> {
  for (const each of watches) await each.goesStale(noticesWithinMs);
  await sleep(clock, slackMs);
  for (const { stale } of watches) {
    assert.equal(stale.length, 1, `onStale was called ${stale.length} times, though the watch has yielded no state since then`);
    assertIsError(stale[0]);
  }
}

/** Waits until each watch has called `onStale`. A watch over a cut link must call it once. */
async function goStale(watches: readonly AnyWatcher[], fault: SilentFault, broken: Breakable, harness: StoreHarness): Promise<void> {
  // Beside silent watches, calls succeed: a watch may show a state again, and become stale again.
  if (fault === 'cut') return goStaleOnce(watches, broken, harness);
  for (const each of watches) await each.goesStale(broken.noticesWithinMs);
  for (const { stale } of watches) for (const cause of stale) assertIsError(cause);
}

function assertIsError(cause: unknown): void {
  assert.ok(isIncumbentError(cause), `onStale was called with no error of the contract: ${String(cause)}`);
}

/** The case of a watch and a list that a fault makes stale. */
function staleCase(name: string, fault: SilentFault, shows: typeof showsChanges): StoreCase {
  return define(name, (client, harness) => shows(client, harness, fault), { faults: [fault] });
}

/** What changes during the fault is shown after it, by both kinds of watch. */
async function showsChanges(client: Client, harness: StoreHarness, fault: SilentFault): Promise<void> {
  const broken = await breakable(harness, fault);
  const revision = await client.create('q/a', 'one');
  await client.create('q/b', 'one');
  const [watch, list] = [broken.client.watch('q/a'), broken.client.watchList('q')];
  await beginWatches([watch, list], harness);
  await beginFault(broken, fault);
  await client.remove('q/a', revision);
  await client.create('q/c', 'one');
  if (fault === 'silenceWatches') await works(broken, 'calls succeed beside silent watches');
  await goStale([watch, list], fault, broken, harness);
  await broken.faults.heal();
  await watch.sees((entry) => entry === undefined, 'the deletion', broken.recoversWithinMs);
  await list.sees((entries) => entries.map((entry) => entry.name).join() === 'b,c', 'what is there', broken.recoversWithinMs);
  for (const each of [watch, list]) await each.stop(harness.slackMs);
}

/**
 * Where nothing changes, both kinds of watch show the state again after the fault, and then every
 * later change.
 */
async function showsStateAgain(client: Client, harness: StoreHarness, fault: SilentFault): Promise<void> {
  const broken = await breakable(harness, fault);
  const revision = await client.create('q/a', 'one');
  const [watch, list] = [broken.client.watch('q/a'), broken.client.watchList('q')];
  await beginWatches([watch, list], harness);
  await beginFault(broken, fault);
  await goStale([watch, list], fault, broken, harness);
  await broken.faults.heal();
  // Beside silent watches, calls succeed: a watch may have shown the state again before that.
  for (const each of [watch, list]) await each.says(2, broken.recoversWithinMs);
  assert.deepEqual([text(watch.latest), list.latest], ['one', await client.list('q')]);
  await client.put('q/a', revision, 'two');
  await watch.sees((entry) => text(entry) === 'two', 'a later change', broken.recoversWithinMs);
  await list.sees(([entry]) => text(entry) === 'two', 'a later change', broken.recoversWithinMs);
  for (const each of [watch, list]) await each.stop(harness.slackMs);
}

/** After the fault is healed, the watch shows that the key has the value `one`. Ends the watch. */
async function healedItShowsOne(watch: Watcher<Entry | undefined>, broken: Breakable, { slackMs }: StoreHarness): Promise<void> {
  await broken.faults.heal();
  await watch.sees((entry) => text(entry) === 'one', 'the creation', broken.recoversWithinMs);
  await watch.stop(slackMs);
}

export const watchFaultCases: readonly StoreCase[] = [
  define('on a healthy link it never says that it is stale', async (client, harness) => {
    const other = await connect(harness);
    let revision = await client.create('q/a', '0');
    for (let attempts = 1; ; attempts += 1) {
      const [watch, list] = [other.watch('q/a'), other.watchList('q')];
      for (const each of [watch, list]) await each.says(1, harness.slackMs);
      for (const i of times(4)) {
        await sleep(harness.clock, harness.slackMs / 2);
        revision = await client.put('q/a', revision, `${i}`);
        await watch.sees((entry) => entry?.revision === revision, 'the change', harness.slackMs);
        await list.sees(([entry]) => entry?.revision === revision, 'the change', harness.slackMs);
      }
      for (const each of [watch, list]) await each.stop(harness.slackMs);
      // A server, or this process, may stand still for a moment. It does not do so each time.
      if (isConfirmed([watch, list]) || attempts === 3) return assertConfirmed([watch, list]);
    }
  }),

  define(
    'it outlives resets: the latest state always comes',
    async (client, harness) => {
      const { client: broken, faults, recoversWithinMs } = await breakable(harness);
      const [watch, list] = [broken.watch('q/a'), broken.watchList('q')];
      let revision = await client.create('q/a', 'first');
      for (const round of times(5)) {
        revision = await client.put('q/a', revision, `before ${round}`);
        await faults.reset();
        revision = await client.put('q/a', revision, `after ${round}`);
        await watch.sees((entry) => text(entry) === `after ${round}`, 'the latest', recoversWithinMs);
        await list.sees((entries) => text(entries[0]) === `after ${round}`, 'the latest', recoversWithinMs);
      }
      for (const each of [watch, list]) await each.stop(harness.slackMs);
    },
    { faults: ['reset'] },
  ),

  staleCase('cut off, it says that it is stale; healed, it shows what changed meanwhile', 'cut', showsChanges),

  staleCase('healed, it shows the state again, though nothing has changed: stale no more', 'cut', showsStateAgain),

  staleCase(
    'its server silent for watches alone, it says that it is stale, and then shows what changed meanwhile',
    'silenceWatches',
    showsChanges,
  ),

  staleCase(
    'its server silent for watches alone, it says that it is stale even where nothing changes, and then shows the state again',
    'silenceWatches',
    showsStateAgain,
  ),

  defineFault('refused, it says that it is stale; healed, it goes on', { faults: ['refuse'] }, async (broken, client, harness) => {
    const watch = broken.client.watch('a');
    await beginWatches([watch], harness);
    await broken.faults.refuse();
    await goStaleOnce([watch], broken, harness);
    await client.create('a', 'one');
    await healedItShowsOne(watch, broken, harness);
  }),

  defineFault(
    'begun while the store refuses connections, it shows the state once there is one',
    { faults: ['refuse'] },
    async (broken, client, harness) => {
      await client.create('a', 'one');
      await broken.faults.refuse();
      const watch = broken.client.watch('a');
      await sleep(harness.clock, harness.slackMs);
      assert.deepEqual(watch.states, []);
      assert.ok(watch.stale.length <= 1, `onStale was called ${watch.stale.length} times before the first state`);
      await healedItShowsOne(watch, broken, harness);
    },
  ),

  defineFault(
    'stalled, it shows the latest state when the link goes on, and none after a later one',
    { faults: ['stall'] },
    async (broken, client, harness) => {
      const watch = broken.client.watch('a');
      let revision = await client.create('a', '0');
      await watch.sees((entry) => text(entry) === '0', 'the creation', harness.slackMs);
      await broken.faults.stall();
      for (const i of times(20)) revision = await client.put('a', revision, `${i + 1}`);
      await sleep(harness.clock, harness.slackMs / 4);
      await recover(broken);
      await watch.sees((entry) => text(entry) === '20', 'the last change', broken.recoversWithinMs);
      const seen = watch.states.map((entry) => Number(text(entry) ?? 0));
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => a - b),
      );
      await watch.stop(harness.slackMs);
    },
  ),

  defineFault(
    'cut off while its consumer is busy, it drops the state that had arrived before',
    { faults: ['cut'] },
    async (broken, client, harness) => {
      const gate = Promise.withResolvers<void>();
      const pause = (): Promise<void> => gate.promise;
      const first = await client.create('q/a', 'one');
      const [watch, list] = [broken.client.watch('q/a', { pause }), broken.client.watchList('q', { pause })];
      const shown = (): unknown => [watch.states.map(text), list.states.map((entries) => entries.map(text))];
      await beginWatches([watch, list], harness);
      const second = await client.put('q/a', first, 'two');
      // Wait for what is still on its way.
      await sleep(harness.clock, harness.slackMs / 2);
      // The server stood still: the state that had arrived is gone already.
      if (!isConfirmed([watch, list])) return gate.resolve();
      await broken.faults.cut();
      await client.put('q/a', second, 'three');
      await goStaleOnce([watch, list], broken, harness);
      gate.resolve();
      await sleep(harness.clock, harness.slackMs / 4);
      assert.deepEqual(shown(), [['one'], [['one']]], 'a state that had arrived before onStale was called');
      await broken.faults.heal();
      await watch.sees((entry) => text(entry) === 'three', 'the latest state', broken.recoversWithinMs);
      await list.sees(([entry]) => text(entry) === 'three', 'the latest state', broken.recoversWithinMs);
      for (const each of [watch, list]) await each.stop(harness.slackMs);
    },
  ),

  defineFault('aborted while it is cut off, it ends quietly and at once', { faults: ['cut'] }, async (broken, _, harness) => {
    const watches = [broken.client.watch('a'), broken.client.watchList('q')];
    for (const watch of watches) await watch.says(1, harness.slackMs);
    await broken.faults.cut();
    for (const watch of watches) await watch.stop(harness.slackMs);
    await recover(broken);
  }),
];
