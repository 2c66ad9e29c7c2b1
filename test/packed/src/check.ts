/**
 * Tests the packages as users get them. Packs each, examines the tarballs (publint, attw), installs
 * them in an empty project with npm, loads each by `import` and by `require` on the oldest and the
 * newest supported Node, leads an election with them, and compiles against their types. Runs the
 * README's first program in an empty folder with only the packages that the README installs. `pnpm
 * check` runs it after the build. The first failure ends it, with exit code 1 and the output of the
 * failing command.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from './command.ts';
import { firstProgram, tryFirstProgram } from './readme.ts';
import { checkThatNpmCannotPublish, packAll, type Tarball, withDependencies } from './tarballs.ts';

const root = join(import.meta.dirname, '../../..');
const tools = join(root, 'node_modules/.bin');

/** This project's own Node 22 is the oldest that `engines` allows. */
const nodes = [join(import.meta.dirname, '../node_modules/.bin/node'), process.execPath];

function examine({ name, path }: Tarball): void {
  run(join(tools, 'publint'), ['run', path, '--strict'], { cwd: root });
  run(join(tools, 'attw'), [path, '--profile', 'esm-only', '--no-color', '--no-emoji'], { cwd: root });
  console.log(`${name}: publint and attw have nothing to say`);
}

/** Installs our packages from the tarballs, and their dependencies from npm. */
function install(tarballs: readonly Tarball[], project: string): void {
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs.map(({ path }) => path)], { cwd: project });
}

function load(node: string, { name }: Tarball, project: string): void {
  const version = run(node, ['--version'], { cwd: project }).trim();
  const imported = run(node, ['--input-type=module', '--eval', `console.log(Object.keys(await import('${name}')))`], { cwd: project });
  const required = run(node, ['--input-type=commonjs', '--eval', `console.log(Object.keys(require('${name}')))`], { cwd: project });
  if (imported !== required) throw new Error(`${name} on Node ${version}: import gives ${imported}, but require ${required}`);
  if (imported.trim() === '[]') throw new Error(`${name} exports nothing`);
  console.log(`${name}: loads by import and by require on Node ${version}`);
}

/** Uses a reaper and a worker that renews: both load further files. */
function lead(node: string, project: string): void {
  const script = `
    import { subscribe } from 'node:diagnostics_channel';
    import { Member, openStore } from 'incumbent';
    const ready = new Promise((resolve) => subscribe('incumbent:renewerReady', resolve));
    const store = await openStore('sqlite:' + process.argv[1]);
    const member = new Member(store, { memberId: 'a', reaper: true, renewIn: 'worker' });
    const leadership = await member.election('packed').campaign();
    const alive = setInterval(() => {}, 1_000);
    await ready;
    clearInterval(alive);
    console.log(leadership.isValid(), leadership.term > 0n);
    await member.close();
    await store.close();`;
  const said = run(
    node,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script, join(project, 'elections.db')],
    { cwd: project },
  );
  const file = join(project, 'node_modules/@incumbent/cli/dist/main.js');
  const free = run(node, [file, 'status', '--store', `sqlite:${join(project, 'elections.db')}`], { cwd: project });
  if (said !== 'true true\n') throw new Error(`leading with the packages says: ${said}`);
  console.log(`they lead an election; after it the command says: ${free.trim()}`);
}

/** With the strictest options: also checks the types themselves. */
function compile(tarballs: readonly Tarball[], project: string): void {
  const lines = tarballs.map(({ name }, index) => `export * as package${index} from '${name}';`);
  writeFileSync(join(project, 'consumer.ts'), lines.join('\n'));
  const options = {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2023',
    skipLibCheck: false,
  };
  const types = { typeRoots: [join(root, 'node_modules/@types')], types: ['node'], lib: ['es2023', 'esnext.disposable'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...types } }));
  run(join(tools, 'tsc'), ['--project', project], { cwd: project });
  console.log(`${tarballs.length} packages: their types compile`);
}

const scratch = mkdtempSync(join(tmpdir(), 'incumbent-packed-'));

/** A new, empty folder. */
function folder(name: string): string {
  const path = join(scratch, name);
  mkdirSync(path);
  return path;
}

try {
  const tarballs = packAll(root, folder('tarballs'));
  tarballs.forEach(examine);
  checkThatNpmCannotPublish(root, folder('npm'));

  const project = folder('project');
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  install(tarballs, project);
  for (const node of nodes) for (const tarball of tarballs) load(node, tarball, project);
  // A bug of SQLite prevents its store on the oldest Node.
  lead(process.execPath, project);
  compile(tarballs, project);

  const { packages, code } = firstProgram(root);
  const first = folder('first');
  install(withDependencies(tarballs, packages), first);
  await tryFirstProgram(process.execPath, first, code);
} finally {
  rmSync(scratch, { recursive: true });
}
