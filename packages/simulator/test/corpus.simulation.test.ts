/**
 * Minimal plans that once broke a promise. The promise holds now, or breaks if the file says that
 * it must.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPlan, run, type FaultKind, type WorldEvent } from '../src/index.ts';

interface Kept {
  /** What failed, and what fixed it. */
  readonly about: string;
  /** Promises that break. Empty if all hold. */
  readonly breaks: readonly string[];
  readonly plan: unknown;
}

const folder = join(import.meta.dirname, '../corpus');
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));

it('there are plans to replay', () => {
  expect(names).not.toEqual([]);
});

describe.each(names)('%s', (name) => {
  const kept: Kept = JSON.parse(readFileSync(join(folder, name), 'utf8'));

  it(kept.about, async () => {
    const plan = readPlan(JSON.stringify(kept.plan));
    const injected = new Set<FaultKind>();
    const onEvent = (event: WorldEvent): void => void (event.type === 'faultInjected' && injected.add(event.kind));
    const first = await run(plan, { listener: { onEvent } });
    // A plan whose faults have no effect tests nothing. Single faults may have none: a plan may
    // need them only because the scheduler draws the order of events differently without them.
    expect([...injected].toSorted()).toEqual([...new Set(plan.faults.map(({ kind }) => kind))].toSorted());
    expect([...new Set(first.violations.map(({ promise }) => promise))].toSorted()).toEqual([...kept.breaks].toSorted());
    const again = await run(plan);
    expect(again.hash).toBe(first.hash);
  });
});
