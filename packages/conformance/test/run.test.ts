import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  runCase,
  runCases,
  storeCases,
  type StoreCase,
  type StoreHarness,
  type TestContext,
  type UseHarness,
} from '@incumbent/conformance';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';

const needy: StoreCase = {
  area: 'operator',
  name: 'needs much',
  needs: ['operator', 'ownLeasesOnly', 'leaks'],
  faults: ['cut', 'stall'],
  run: () => Promise.reject(new Error('ran')),
};

/** A harness without an operator, whose only fault is a cut link. */
function poorer(harness: StoreHarness): StoreHarness {
  const { operator: _, leaks: __, ...rest } = harness;
  return { ...rest, offers: ['cut'] };
}

describe('runCase', () => {
  it('names everything that the store lacks, and does not run the case', async () => {
    const skipped: string[] = [];
    await runCase(
      needy,
      (body) => memoryHarness()((harness) => body(poorer(harness))),
      (reason) => skipped.push(reason),
    );
    expect(skipped).toEqual(['lacking: operator, ownLeasesOnly, leaks, fault stall']);
  });

  it('runs a case whose needs are met, and rejects with its error', async () => {
    const harness = memoryHarness({ server: { assignableLease: false } });
    await expect(runCase(needy, harness, () => expect.unreachable('skipped'))).rejects.toThrow('ran');
  });

  /** Takes a while, and then fails. */
  const failing: StoreCase = {
    area: 'operator',
    name: 'fails',
    run: async ({ clock }) => {
      await new Promise((resolve) => {
        clock.schedule(50, () => resolve(undefined));
      });
      throw new Error('the case failed');
    },
  };
  const skip = (reason: string): never => expect.unreachable(reason);

  it('rejects if the harness does not run its body', async () => {
    await expect(runCase(failing, async () => {}, skip)).rejects.toThrow('has not run its body to the end');
  });

  it('rejects if the harness does not await its body', async () => {
    // The clock stops when the harness is done, so the case never ends.
    const hasty: UseHarness = (body) => memoryHarness()(async (harness) => void body(harness));
    await expect(runCase(failing, hasty, skip)).rejects.toThrow('has not run its body to the end');
  });

  it('rejects with the error of the case if the harness swallows it', async () => {
    const silent: UseHarness = (body) => memoryHarness()((harness) => body(harness).catch(() => {}));
    await expect(runCase(failing, silent, skip)).rejects.toThrow('the case failed');
  });
});

describe('runCases', () => {
  it('declares every case once, in its area, and passes skips to the runner', async () => {
    const declared: string[] = [];
    const bodies: ((context: TestContext) => Promise<void>)[] = [];
    const runner = {
      describe: (area: string, body: () => void) => {
        declared.push(area);
        body();
      },
      it: (name: string, body: (context: TestContext) => Promise<void>) => {
        declared.push(name);
        bodies.push(body);
      },
    };
    const other: StoreCase = { area: 'operator', name: 'needs nothing', run: async () => {} };
    runCases([needy, other], memoryHarness(), runner);
    expect(declared).toEqual(['operator', 'needs much', 'needs nothing']);
    const skipped: (string | undefined)[] = [];
    for (const body of bodies) await body({ skip: (reason) => skipped.push(reason) });
    expect(skipped).toEqual(['lacking: ownLeasesOnly']);
  });

  it('works under Node’s own runner, skips included', async () => {
    const file = fileURLToPath(new URL('with-node-test.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=@incumbent/source',
      '--test',
      '--test-reporter=tap',
      file,
    ]);
    const skips = storeCases.filter((one) => one.needs?.includes('assignableLease')).length;
    expect(stdout).toMatch(new RegExp(`^# pass ${storeCases.length - skips}$`, 'm'));
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(stdout).toMatch(new RegExp(`^# skipped ${skips}$`, 'm'));
    expect(stdout).toContain('# SKIP lacking: assignableLease');
  }, 30_000);
});
