/**
 * A secret in any option or argument of any verb is shown neither on standard output nor on
 * standard error. The parser lists the verbs.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { MARKER, misplaced, showing, type OptionKind } from '@incumbent/test-support/traces';
import type { Command } from 'commander';
import { openStore } from 'incumbent';
import { afterAll, describe, expect, it } from 'vitest';

import { program } from '../src/command-line/program.ts';
import { Channels } from './support/channels.ts';
import { Console } from './support/console.ts';

const desk = new Console();
// `run` takes no store in memory, and looks for its program before anything else.
const folder = mkdtempSync(join(tmpdir(), 'incumbent-marker-'));
const environment = { INCUMBENT_STORE: `sqlite:${join(folder, 'state.db')}`, PATH: process.env['PATH'] ?? '' };
afterAll(async () => {
  await desk[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/**
 * Names and paths, which are shown unless they look like a URL with credentials. Whatever else a
 * verb takes is described.
 */
const SHOWN = new Set([
  '--election',
  '--member',
  '--store-file',
  '--accept-weak-store',
  'handover --to',
  'election',
  'elections',
  'program',
]);

function kindOf(verb: string, name: string): OptionKind {
  return SHOWN.has(name) || SHOWN.has(`${verb} ${name}`) ? 'shown' : 'described';
}

function textsFor(verb: string, name: string): readonly string[] {
  return misplaced(kindOf(verb, name)).filter((value) => typeof value === 'string');
}

/** A command line that would do, but for what `wrong` replaces. */
function lineOf(command: Command, wrong: Readonly<Record<string, string>>): readonly string[] {
  const needed = command.options.filter((option) => option.mandatory || wrong[option.long ?? ''] !== undefined);
  const options = needed.map((option) => `${option.long}=${wrong[option.long ?? ''] ?? (option.long === '--from' ? '2' : '1')}`);
  const args = command.registeredArguments.filter((argument) => argument.required || wrong[argument.name()] !== undefined);
  const words = args.map((argument) => wrong[argument.name()] ?? (argument.name() === 'program' ? 'true' : 'db'));
  return [command.name(), ...options, '--', ...words];
}

const { commands } = program([], desk.surroundings(), '0.0.0', () => {});
const rows = commands.flatMap((command) => {
  const options = command.options.filter(({ required, optional }) => required || optional).map(({ long }) => long ?? '');
  const names = [...options, ...command.registeredArguments.map((argument) => argument.name())];
  return names.flatMap((name) =>
    textsFor(command.name(), name).map((text) => [command.name(), name, text, lineOf(command, { [name]: text })] as const),
  );
});

async function saidOf(line: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  using channels = new Channels();
  const { out, err } = await desk.ask(line, { open: openStore, env: { ...environment, ...env } });
  return [out, err, ...channels.heard];
}

describe('the command', () => {
  it('has the verbs and the options that are tried here', () => {
    expect(new Set(rows.map(([verb]) => verb))).toEqual(new Set(commands.map((command) => command.name())));
    expect(rows.map(([verb, name]) => `${verb} ${name}`)).toEqual(
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

  it.each(rows)('%s does not show its %s %j', async (_verb, _name, _text, line) => {
    expect(showing(await saidOf(line))).toEqual([]);
  });

  it.each(commands.map((command) => command.name()))('%s does not show what stands in its environment', async (verb) => {
    const line = lineOf(
      commands.find((command) => command.name() === verb)!,
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

  it.each(commands.map((command) => command.name()))(
    '%s does not show an option that it does not have, nor an argument too many',
    async (verb) => {
      const line = lineOf(
        commands.find((command) => command.name() === verb)!,
        {},
      );
      for (const word of [`--none=${MARKER}`, `--redis://:${MARKER}`, `-q${MARKER}@h`, `redis://:${MARKER}@h`])
        expect(showing(await saidOf([verb, word, ...line.slice(1)]))).toEqual([]);
    },
  );
});
