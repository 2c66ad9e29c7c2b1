/**
 * A secret in any option or argument of any command is printed neither to standard output nor to
 * standard error. The commands and their options come from the parser.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { MARKER, misplaced, showing, type OptionKind } from '@incumbent/test-support/traces';
import type { Command } from 'commander';
import { openStore } from 'incumbent';
import { afterAll, describe, expect, it } from 'vitest';

import { createProgram } from '../../src/program.ts';
import { EventRecorder } from '../support/event-recorder.ts';
import { TestConsole } from '../support/test-console.ts';

const console = new TestConsole();
// `run` rejects a store in memory, and looks for its program first.
const folder = mkdtempSync(join(tmpdir(), 'incumbent-marker-'));
const environment = { INCUMBENT_STORE: `sqlite:${join(folder, 'state.db')}`, PATH: process.env['PATH'] ?? '' };
afterAll(async () => {
  await console[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/**
 * Names and paths, which are shown unless they look like a URL with credentials. Every other value
 * is described by its type and length.
 */
const SHOWN = new Set([
  '--election',
  '--member',
  '--store-file',
  '--accept-weak-store',
  'handover --to',
  'election',
  'elections',
  'groups',
  'program',
]);

function kindOf(command: string, name: string): OptionKind {
  return SHOWN.has(name) || SHOWN.has(`${command} ${name}`) ? 'shown' : 'described';
}

function textsFor(command: string, name: string): readonly string[] {
  return misplaced(kindOf(command, name)).filter((value) => typeof value === 'string');
}

/** No server can listen there, so `serve` ends even if all other options are valid. */
const NOWHERE = `unix:${join(folder, 'missing', 's.sock')}`;

/** A valid command line, except for the values that `wrong` replaces. */
function lineOf(command: Command, wrong: Readonly<Record<string, string>>): readonly string[] {
  const needed = command.options.filter((option) => option.mandatory || wrong[option.long ?? ''] !== undefined);
  const options = needed.map((option) => `${option.long}=${wrong[option.long ?? ''] ?? (option.long === '--from' ? '2' : '1')}`);
  const args = command.registeredArguments.filter((argument) => argument.required || wrong[argument.name()] !== undefined);
  const words = args.map((argument) => wrong[argument.name()] ?? (argument.name() === 'program' ? 'true' : 'db'));
  const nowhere = command.name() === 'serve' && wrong['--listen'] === undefined ? [`--listen=${NOWHERE}`] : [];
  return [command.name(), ...nowhere, ...options, '--', ...words];
}

const { commands } = createProgram([], console.context(), '0.0.0', () => {});
const rows = commands.flatMap((command) => {
  const options = command.options.filter(({ required, optional }) => required || optional).map(({ long }) => long ?? '');
  const names = [...options, ...command.registeredArguments.map((argument) => argument.name())];
  return names.flatMap((name) =>
    textsFor(command.name(), name).map((text) => [command.name(), name, text, lineOf(command, { [name]: text })] as const),
  );
});

async function saidOf(line: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  using events = new EventRecorder();
  const { out, err } = await console.run(line, { open: openStore, env: { ...environment, ...env } });
  return [out, err, ...events.texts];
}

describe('the command', () => {
  it('has the commands and options that are tested here', () => {
    // `limits` takes no value.
    const names = commands.map((command) => command.name()).filter((name) => name !== 'limits');
    expect(new Set(rows.map(([command]) => command))).toEqual(new Set(names));
    expect(rows.map(([command, name]) => `${command} ${name}`)).toEqual(
      expect.arrayContaining([
        'run --value',
        'run --ttl',
        'run program',
        'resign --term',
        'doctor --ttl',
        'status --store',
        'watch election',
      ]),
    );
  });

  it.each(rows)('%s does not show its %s %j', async (_command, _name, _text, line) => {
    expect(showing(await saidOf(line))).toEqual([]);
  });

  it.each(commands.map((command) => command.name()))('%s does not show its environment', async (name) => {
    const line = lineOf(
      commands.find((command) => command.name() === name)!,
      {},
    );
    for (const url of [
      MARKER.toLowerCase(),
      `redis://app:${MARKER}@127.0.0.1:1?connectTimeoutMs=100`,
      `redis://app:pa/${MARKER}@127.0.0.1:1`,
    ])
      expect(showing(await saidOf(line, { INCUMBENT_STORE: url }))).toEqual([]);
    expect(showing(await saidOf(line, { INCUMBENT_STORE: '', INCUMBENT_STORE_FILE: `redis://:${MARKER}@h` }))).toEqual([]);
  });

  it.each(commands.map((command) => command.name()))('%s does not show an unknown option or an extra argument', async (name) => {
    const line = lineOf(
      commands.find((command) => command.name() === name)!,
      {},
    );
    for (const word of [`--none=${MARKER}`, `--redis://:${MARKER}`, `-q${MARKER}@h`, `redis://:${MARKER}@h`])
      for (const json of [[], ['--json']]) expect(showing(await saidOf([name, ...json, word, ...line.slice(1)]))).toEqual([]);
  });
});

describe('a secret in --store', () => {
  const warning = async (store: string): Promise<string> =>
    (await console.run(['leader', 'db', '--store', store], { open: () => Promise.reject(new Error('there is no server')) })).err;

  it.each([
    'redis://:secret@h/x',
    'consul://:token@h/x',
    'redis+sentinel://s1,s2/x?master=m&sentinelPassword=secret',
    'redis+sentinel://s1/x?sentinelUsername=u&sentinelPassword=a%40b&master=m',
    'consul://h/x?token=secret',
  ])('is warned about in %s', async (store) => {
    expect(await warning(store)).toContain('can read the secret in --store with ps');
  });

  it.each(['redis://h/x', 'postgres://user@h/x?namespace=token', 'redis+sentinel://s1/x?master=m&sentinelPassword=', 'sqlite:token=x.db'])(
    'is not warned about in %s',
    async (store) => {
      expect(await warning(store)).not.toContain('with ps');
    },
  );
});
