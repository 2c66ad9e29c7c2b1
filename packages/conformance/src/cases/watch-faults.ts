import assert from 'node:assert/strict';
import type { Entry } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { beginFault, breakable, recover, works, type Breakable } from '../breakable-client.ts';
import { text, type Client } from '../client.ts';
import { casesOf, faultCasesOf } from '../define.ts';
import type { StoreHarness } from '../harness.ts';
import { times } from '../combinations.ts';
import { sleep } from '../time.ts';
import type { Watcher } from '../watcher.ts';

const define = casesOf('watch');
const defineFault = faultCasesOf('watch');

/** The faults that a watch notices, and says so. */
type SilentFault = 'cut' | 'silenceWatches';

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
  for (const each of [watch, list]) await each.says(1, harness.slackMs);
  await beginFault(broken, fault);
  await client.remove('q/a', revision);
  await client.create('q/c', 'one');
  if (fault === 'silenceWatches') await works(broken, 'calls succeed beside silent watches');
  for (const each of [watch, list]) await each.goesStale(broken.noticesWithinMs);
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
  for (const each of [watch, list]) await each.says(1, harness.slackMs);
  await beginFault(broken, fault);
  for (const each of [watch, list]) await each.goesStale(broken.noticesWithinMs);
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
    await watch.says(1, harness.slackMs);
    await broken.faults.refuse();
    await watch.goesStale(broken.noticesWithinMs);
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

  defineFault('aborted while it is cut off, it ends quietly and at once', { faults: ['cut'] }, async (broken, _, harness) => {
    const watches = [broken.client.watch('a'), broken.client.watchList('q')];
    for (const watch of watches) await watch.says(1, harness.slackMs);
    await broken.faults.cut();
    for (const watch of watches) await watch.stop(harness.slackMs);
    await recover(broken);
  }),
];
