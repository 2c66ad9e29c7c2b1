/** The fuzzer finds the defects of planted readers, and keeps the inputs that show them. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fuzz, targetsIn, type FoundTarget } from '../src/fuzz/index.ts';
import { makeScratch, type Scratch } from '../src/scratch.ts';

const FAST_CHECK = pathToFileURL(createRequire(import.meta.url).resolve('fast-check')).href;

/** The body of each planted reader of `input`. */
const READERS = {
  /** Refuses, as it documents. */
  fine: `if (input.length > 3) throw new TypeError('too long');`,
  // By chance alone, one of 2^32 inputs.
  deep: `if (input[0] === 70) { if (input[1] === 85) { if (input[2] === 90) { if (input[3] === 90) throw new RangeError('planted'); } } }`,
  late: `await null; if (input.length === 7) throw new RangeError('planted');`,
  slow: `if (input.length === 5) { const cpu = process.threadCpuUsage(); while (process.threadCpuUsage(cpu).user < 1.05e6); }`,
  large: `if (input.length === 5) globalThis.kept = new Uint8Array(2 ** 27);`,
  endless: `if (input.length === 5) for (;;);`,
  // Small objects: an array that grows may need more than the 16 MB that Node adds at the limit.
  greedy: `let kept = []; if (input.length === 5) for (;;) kept = [kept];`,
} as const;

/** A defect ends it. A second of processor time is half a minute on a busy machine. */
const FOR_MS = 150_000;
const TIMEOUT = { timeout: 180_000 };

let scratch: Scratch;
let file: string;

beforeAll(async () => {
  scratch = await makeScratch('fuzz');
  file = join(scratch.path, 'targets.mjs');
  const targets = Object.entries(READERS).map(
    ([name, body]) =>
      `{ name: '${name}', inputs: fc.uint8Array({ maxLength: 8 }), isRefusal: (error) => error instanceof TypeError, async read(input) { ${body} } }`,
  );
  writeFileSync(file, `import fc from '${FAST_CHECK}';\nexport const targets = [${targets.join(',\n')}];\n`);
});
afterAll(() => scratch.remove());

async function planted(name: keyof typeof READERS): Promise<readonly FoundTarget[]> {
  return (await targetsIn(file)).filter(({ target }) => target.name === name);
}

/** What is said of one reader, and the inputs that are kept. */
async function fuzzed(name: keyof typeof READERS, forMs = FOR_MS): Promise<{ said: string; kept: readonly Uint8Array[] }> {
  const said: string[] = [];
  const options = {
    seed: 7,
    forMs,
    keeps: false,
    hangsAfterMs: name === 'endless' ? 5_000 : 60_000,
    say: (line: string) => said.push(line),
  };
  const counts = await fuzz(await planted(name), options);
  expect(counts).toEqual(name === 'fine' ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
  const folder = join(scratch.path, 'corpus', name);
  const kept = name === 'fine' ? [] : readdirSync(folder).map((one) => readFileSync(join(folder, one)));
  return { said: said.join('\n'), kept };
}

describe('a planted defect is found, with its input and its seed:', TIMEOUT, () => {
  it('behind four bytes, each of which takes it a block further', async () => {
    const { said, kept } = await fuzzed('deep');
    expect(said).toMatch(/with the seed 7[^]*RangeError: planted/);
    expect(kept.map((input) => Buffer.from(input.subarray(0, 4)).toString())).toEqual(['FUZZ']);
  });

  it.each([
    ['late', 'RangeError: planted'],
    ['slow', 'reading the input took'],
    ['large', 'bytes of memory, more than'],
    ['endless', 'was not read within 5000 ms'],
    ['greedy', 'memory'],
  ] as const)('a reader that is %s', async (name, why) => {
    const { said, kept } = await fuzzed(name);
    expect(said).toContain(why);
    expect(kept.map(({ length }) => length)).toEqual([name === 'late' ? 7 : 5]);
  });
});

it('a reader that refuses by documented errors passes', async () => {
  const { said } = await fuzzed('fine', 500);
  expect(said).toMatch(/\/fine: \d+ inputs/);
});
