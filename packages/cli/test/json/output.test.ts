/**
 * With `--json`, standard output has lines of JSON that fit the published schema, and no others.
 */

import { readFileSync } from 'node:fs';

import { StoreError } from '@incumbent/core';
import { type AnySchemaObject, Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { viewLine } from '../../src/common/output.ts';
import { CLI_ERRORS, EXIT_MEANINGS } from '../../src/exit.ts';
import { createProgram } from '../../src/program.ts';
import { closed } from '../support/closed-schema.ts';
import { TestConsole } from '../support/test-console.ts';
import { outcomes } from './outcomes.ts';

const schema: AnySchemaObject = JSON.parse(readFileSync(new URL('../../output.schema.json', import.meta.url), 'utf8'));
const page = readFileSync(new URL('../../../../docs/json-output.md', import.meta.url), 'utf8');

const fits = validatorOf(closed(schema));

function validatorOf(of: unknown): ValidateFunction {
  if (typeof of !== 'object' || of === null) throw new TypeError('the schema is no object');
  return new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true }).compile(of);
}

/** What is wrong with a line; undefined if it fits. */
function complaint(line: string): unknown {
  const parsed: unknown = JSON.parse(line);
  return fits(parsed) ? undefined : { line, errors: fits.errors };
}

function linesOf(out: string): readonly string[] {
  return out.split('\n').slice(0, -1);
}

let console: TestConsole;
beforeEach(() => {
  console = new TestConsole();
});
afterEach(async () => console[Symbol.asyncDispose]());

describe('the output of', () => {
  it.each(outcomes.map((outcome) => [outcome.line[0], outcome.title, outcome] as const))(
    '%s %s fits',
    async (_command, _title, outcome) => {
      const { line, given, exitCode, error, maxLines = Infinity } = outcome;
      const open = await given?.(console);
      const { code, out } = await console.run([...line, '--json'], { maxLines, ...(open === undefined ? {} : { open }) });
      const lines = linesOf(out);
      expect(lines.map(complaint)).toEqual(lines.map(() => undefined));
      expect(code).toBe(exitCode);
      const errors = lines.map((text): { readonly type: string } => JSON.parse(text)).filter(({ type }) => type === 'error');
      const meaning = EXIT_MEANINGS[exitCode];
      expect(errors).toEqual(error === undefined ? [] : [{ type: 'error', code: error, exitCode, meaning, message: expect.any(String) }]);
      if (error !== undefined) expect(lines.at(-1)).toContain('"type":"error"');
    },
  );

  it('watch fits in every state', () => {
    const at = new Date(0).toISOString();
    const cause = new StoreError('TIMEOUT', 'unknown', 'no answer');
    const views = [
      { state: 'leader', term: 7n, memberId: 'a', incarnation: 'b', value: undefined, reason: 'termReset' },
      { state: 'vacant', reason: 'neverLed' },
      { state: 'unknown', since: 0 },
      { state: 'unknown', since: 0, cause },
    ] as const;
    const lines = views.map((view) => JSON.stringify(viewLine('db', view, at)));
    expect(lines.map(complaint)).toEqual(lines.map(() => undefined));
    expect(lines.at(-1)).toContain('"error":{"code":"TIMEOUT","message":"no answer"}');
  });
});

describe('the outcomes that are tested here', () => {
  const commands = createProgram([], new TestConsole().context(), '0.0.0', () => {}).commands;
  const json = commands.filter(({ options }) => options.some(({ long }) => long === '--json'));

  it('are of all commands but run, serve, ui, postgres and completion, whose output is not ours or no data', () => {
    const others = commands.filter((command) => !json.includes(command)).map((command) => command.name());
    expect(others).toEqual(['run', 'serve', 'ui', 'postgres', 'completion']);
  });

  it.each(json.map((command) => command.name()))('have every exit code that the help of %s lists', async (name) => {
    const { out } = await console.run([name, '--help']);
    const [, list = ''] = /\nExit codes:\n((?: {2}\d .*\n)+)/.exec(out) ?? [];
    const listed = [...list.matchAll(/^ {2}(\d) /gm)].map(([, code]) => Number(code));
    const tested = outcomes.filter(({ line }) => line[0] === name).map(({ exitCode }) => exitCode);
    expect(listed).not.toEqual([]);
    expect(new Set(tested)).toEqual(new Set(listed));
  });

  it("have every error code of the command's own", () => {
    const tested = new Set(outcomes.map(({ error }) => error));
    // No known failure lacks a code.
    expect(Object.keys(CLI_ERRORS).filter((code) => code !== 'FAILED' && !tested.has(code))).toEqual([]);
  });
});

describe('standard error', () => {
  it('has the messages for people, with --json too', async () => {
    await console.leads('web-1');
    const { out, err } = await console.run(['resign', 'db', '--json']);
    expect(err).toBe('"web-1" is told to step down from term 1\n');
    expect(JSON.parse(out)).toEqual({ type: 'result', command: 'resign', election: 'db', ended: { term: '1', memberId: 'web-1' } });
    const failed = await console.run(['resign', 'db', '--json']);
    expect(failed.err).toBe('incumbent: nobody leads "db" (the last term was 1)\n');
    expect(JSON.parse(failed.out)).toMatchObject({ code: 'NOBODY_LEADS', message: 'nobody leads "db" (the last term was 1)' });
  });
});

describe('the command line asks for JSON', () => {
  it.each([
    [['statu', '--json'], true],
    [['--json'], true],
    [['leader', '--json', '--', 'a/b'], true],
    [['leader', '--', '--json'], false],
    [['run', '--json'], false],
    [['run', '--election', 'a/b', '--', 'program', '--json'], false],
  ])('%j: %s', async (line, expected) => {
    const { out } = await console.run(line);
    expect(out !== '').toBe(expected);
  });
});

describe('the schema', () => {
  it('leaves room for fields of later versions', () => {
    const open = validatorOf(schema);
    const line = { type: 'election', election: 'db', state: 'vacant', reason: 'expired', later: 1 };
    expect([open(line), fits(line)]).toEqual([true, false]);
  });

  it.each([
    ['a line of no type', {}],
    ['a term as a number', { type: 'result', command: 'lower-term-unsafely', election: 'db', from: 2, to: '1' }],
    ['a leader without its term', { type: 'election', election: 'db', state: 'leader', leader: { memberId: 'a', incarnation: 'b' } }],
    ['an error without its code', { type: 'error', message: 'm', exitCode: 3, meaning: 'n' }],
  ])('refuses %s', (_, line) => {
    expect(validatorOf(schema)(line)).toBe(false);
  });
});

describe('the page', () => {
  it('has examples that fit', () => {
    const blocks = [...page.matchAll(/^```json\n(.*?)^```/gms)].flatMap(([, block = '']) => block.trim().split('\n'));
    expect(blocks.length).toBeGreaterThan(10);
    expect(blocks.map(complaint)).toEqual(blocks.map(() => undefined));
  });

  it("lists the command's own error codes with their meaning", () => {
    for (const [code, meaning] of Object.entries(CLI_ERRORS)) expect(page).toContain(`| \`${code}\` | ${meaning} |`);
  });

  it('explains every field of the schema', () => {
    const { $defs } = schema;
    const fields = new Set<string>();
    const collect = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      for (const [name, value] of Object.entries(part)) {
        if (name === 'properties' && typeof value === 'object' && value !== null) for (const field of Object.keys(value)) fields.add(field);
        collect(value);
      }
    };
    collect($defs);
    expect([...fields].filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
  });
});
