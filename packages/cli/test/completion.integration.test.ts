/** The completion scripts, in real shells. A shell that is not installed is skipped by name. */

import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { makeScratch, type Scratch } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createProgram } from '../src/program.ts';
import { wordsOf } from '../src/completion/words.ts';
import { TestConsole } from './support/test-console.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const console = new TestConsole();
const words = wordsOf(createProgram([], console.context(), '0.0.0', () => {}));
const commands = words.commands.map(({ name }) => name);

let scratch: Scratch;
beforeAll(async () => {
  scratch = await makeScratch('completion');
  for (const shell of SHELLS) writeFileSync(scriptOf(shell), (await console.run(['completion', shell])).out);
  writeFileSync(join(scratch.path, 'store-url'), '');
});
afterAll(async () => {
  await console[Symbol.asyncDispose]();
  rmSync(scratch.path, { recursive: true });
});

function scriptOf(shell: Shell): string {
  return join(scratch.path, `incumbent.${shell}`);
}

function isInstalled(shell: Shell): boolean {
  return spawnSync(shell, ['--version']).status === 0;
}

interface ShellResult {
  readonly stdout: string;
  readonly stderr: string;
}

function runShell(shell: Shell, args: readonly string[]): ShellResult {
  const { stdout, stderr } = spawnSync(shell, args, { cwd: scratch.path, encoding: 'utf8', timeout: 30_000 });
  return { stdout, stderr };
}

/** What a shell offers for the last word of a command line. */
const OFFERS: Readonly<Record<Shell, (line: readonly string[]) => readonly string[]>> = {
  bash(line) {
    // The function that readline would call, with the variables that readline would set.
    const program = `
      source ${scriptOf('bash')}
      [[ $(complete -p incumbent) =~ -F\\ ([^ ]+) ]]
      compopt() { :; }
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      "\${BASH_REMATCH[1]}" && printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = runShell('bash', ['--norc', '-c', program, 'bash', ...line]);
    expect(stderr).toBe('');
    return stdout.split('\n').filter((word) => word !== '');
  },
  zsh(line) {
    // Completion needs an interactive shell on a terminal of its own.
    const program = `
      zmodload zsh/zpty
      zpty child zsh -f -i
      zpty -w child 'stty rows 200 cols 400; autoload -U compinit; compinit -u -D; source ${scriptOf('zsh')}; bindkey "^T" list-choices; PS1=REA""DY'
      zpty -r -m child text '*READY*'
      zpty -w -n child "$1"$'\\x14'
      zpty -w -n child $'\\x15'"print -r -- DO''NE"$'\\n'
      zpty -r -m child text '*DONE*'
      print -r -- $text`;
    const { stdout } = runShell('zsh', ['-f', '-c', program, 'zsh', line.join(' ')]);
    // oxlint-disable-next-line no-control-regex -- The terminal's escape sequences.
    return stdout.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, ' ').split(/\s+/);
  },
  fish(line) {
    const { stdout, stderr } = runShell('fish', ['--no-config', '-c', `source ${scriptOf('fish')}; complete -C '${line.join(' ')}'`]);
    expect(stderr).toBe('');
    return stdout.split('\n').flatMap((row) => row.split('\t')[0] ?? []);
  },
};

describe.each(SHELLS.map((shell) => [shell] as const))('%s', (shell) => {
  const offers = OFFERS[shell];

  describe.skipIf(!isInstalled(shell))('completes', () => {
    it('the commands', () => {
      expect(offers(['incumbent', ''])).toEqual(expect.arrayContaining(commands));
      expect(offers(['incumbent', 'lower'])).toContain('lower-term-unsafely');
    });

    it.each(words.commands.filter(({ options }) => options.length > 0).map((command) => [command.name, command] as const))(
      'the options of %s',
      (name, { options }) => {
        const long = options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')));
        expect(long.length).toBeGreaterThan(0);
        expect(offers(['incumbent', name, '--'])).toEqual(expect.arrayContaining(long));
      },
    );

    it('the shells of completion, and the commands of help', () => {
      expect(offers(['incumbent', 'completion', ''])).toEqual(expect.arrayContaining([...SHELLS]));
      expect(offers(['incumbent', 'help', 'st'])).toContain('status');
    });

    it('a file after --store-file', () => {
      expect(offers(['incumbent', 'status', '--store-file', 'store-'])).toContain('store-url');
    });

    it('the program of run, and its files', () => {
      expect(offers(['incumbent', 'run', '--election', 'db', '--', 'mkfif'])).toContain('mkfifo');
      expect(offers(['incumbent', 'run', '--', 'cat', 'store-'])).toContain('store-url');
    });

    it('no option of another command, and nothing for an option with a value of its own', () => {
      expect(offers(['incumbent', 'leader', '--'])).not.toContain('--grace');
      expect(offers(['incumbent', 'handover', 'db', '--to', ''])).not.toContain('--timeout');
    });
  });
});
