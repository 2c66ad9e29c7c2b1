/**
 * Programs in other languages, each one file that needs its language's standard library alone. The
 * tools come from the PATH, or from Debian's packages, which are unpacked into the cache.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { run } from './run.ts';
import { cached } from './servers/cache.ts';
import { folderOnPath } from './servers/find.ts';
import { unpackedPackages } from './servers/packages.ts';
import { canBeHad } from './servers/require.ts';
import { firstOf, type Candidate } from './servers/source.ts';

/** How a program is started. */
export interface LanguageCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** How programs of a language are started. For Go, the command is the compiler. */
type Tool = Omit<LanguageCommand, 'args'>;

const BUILD_TIMEOUT_MS = 600_000;
/** The release of the packages. They need nothing of the machine but its C library. */
const RELEASE = 'bookworm';
const GO = '1.19';

const tools = {
  python: [onPath('python3')],
  shell: [{ what: 'curl on the PATH', find: async () => ((await folderOnPath('curl')) === undefined ? undefined : toolOnPath('bash')) }],
  go: [onPath('go'), { what: "Debian's packages of Go", find: unpackedGo }],
  java: [
    { what: 'javac on the PATH', find: async () => ((await folderOnPath('javac')) === undefined ? undefined : toolOnPath('java')) },
    { what: "Debian's packages of Java", find: unpackedJava },
  ],
  ruby: [onPath('ruby'), { what: "Debian's packages of Ruby", find: unpackedRuby }],
} satisfies Readonly<Record<string, readonly Candidate<Tool>[]>>;

export type Language = keyof typeof tools;

/** Whether programs of this language can run here, reported as {@link requireStore} does. */
export function requireLanguage(language: Language): Promise<boolean> {
  return canBeHad(() => firstOf<Tool>(language, tools[language]));
}

/** The command that runs a program. Compiles a Go program once for each version of its source. */
export async function languageCommand(language: Language, file: string): Promise<LanguageCommand> {
  const tool = await firstOf<Tool>(language, tools[language]);
  if (language !== 'go') return { ...tool, args: [file] };
  return { command: await builtByGo(tool, file), args: [], env: {} };
}

async function builtByGo({ command, env }: Tool, file: string): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 16);
  const name = basename(file, '.go');
  const folder = await cached(join('programs', `${name}-${process.arch}-${digest}`), async (draft) => {
    const caches = { GOCACHE: join(draft, 'cache'), GOPATH: join(draft, 'path') };
    const options = { GO111MODULE: 'off', GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '', ...caches };
    await run(command, ['build', '-o', join(draft, name), file], {
      env: { ...process.env, ...env, ...options },
      timeoutMs: BUILD_TIMEOUT_MS,
    });
    await run('rm', ['-rf', ...Object.values(caches)]);
  });
  return join(folder, name);
}

function onPath(program: string): Candidate<Tool> {
  return { what: `${program} on the PATH`, find: () => toolOnPath(program) };
}

async function toolOnPath(program: string): Promise<Tool | undefined> {
  const folder = await folderOnPath(program);
  return folder === undefined ? undefined : { command: join(folder, program), env: {} };
}

async function unpackedGo(): Promise<Tool> {
  const root = await unpackedPackages({ names: [`golang-${GO}-go`, `golang-${GO}-src`], release: RELEASE });
  const folder = join(root, 'usr', 'lib', `go-${GO}`);
  return { command: join(folder, 'bin', 'go'), env: { GOROOT: folder } };
}

/** A program of one source file needs the compiler. */
async function unpackedJava(): Promise<Tool> {
  const root = await unpackedPackages({ names: ['openjdk-17-jdk-headless', 'openjdk-17-jre-headless'], release: RELEASE });
  const machine = process.arch === 'x64' ? 'amd64' : process.arch;
  return { command: join(root, 'usr', 'lib', 'jvm', `java-17-openjdk-${machine}`, 'bin', 'java'), env: {} };
}

async function unpackedRuby(): Promise<Tool> {
  const names = ['ruby3.1', 'libruby3.1', 'libgmp10', 'libyaml-0-2', 'libffi8', 'zlib1g', 'libssl3', 'libcrypt1'];
  const root = await unpackedPackages({ names, release: RELEASE });
  const machine = `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu`;
  const library = join(root, 'usr', 'lib');
  const env = {
    LD_LIBRARY_PATH: [join(library, machine), join(root, 'lib', machine)].join(':'),
    RUBYLIB: [join(library, 'ruby', '3.1.0'), join(library, machine, 'ruby', '3.1.0')].join(':'),
    RUBYOPT: '--disable-gems',
  };
  return { command: join(root, 'usr', 'bin', 'ruby3.1'), env };
}
