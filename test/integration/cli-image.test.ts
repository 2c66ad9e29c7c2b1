import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireEngine, startEtcd, until, useEngine, type OwnServer, type UsedEngine } from '@incumbent/test-support';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';
import { buildCliImage, Docker, requireBuild, type CliImage } from './cli-image.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, '../..');
const DEADLINE = { withinMs: 60_000 };
/**
 * As in a pod with the strictest of Kubernetes' security standards, on the network of the machine.
 */
const LOCKED_DOWN = ['--network=host', '--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
const MAX_ADDED_BYTES = 5_000_000;
/** A program that stops on SIGTERM in its own way. */
const PROGRAM =
  "process.on('SIGTERM', () => process.exit(7)); console.log('term', process.env.INCUMBENT_TERM); setInterval(() => {}, 1000)";

const manifests = globSync('{,packages/*/}package.json', { cwd: ROOT }).map((file): Manifest =>
  JSON.parse(readFileSync(join(ROOT, file), 'utf8')),
);
const cli = manifests.find(({ name }) => name === '@incumbent/cli');

// The first time, Docker, etcd and the packages of the build are downloaded.
describe.runIf((await requireEngine()) && (await requireBuild()))('the image of the command', { timeout: 300_000 }, () => {
  let used: UsedEngine;
  let docker: Docker;
  let image: CliImage;
  let etcd: OwnServer;
  let store: string;
  const started: string[] = [];

  beforeAll(async () => {
    used = await useEngine();
    docker = await Docker.open(used.engine);
    image = await buildCliImage(used.engine);
    etcd = await startEtcd();
    store = storeUrl([etcd.url], freshNamespace());
  }, 600_000);
  afterEach(async () => {
    if (started.length > 0) await docker.run(['rm', '--force', ...started.splice(0)]);
  });
  afterAll(async () => {
    await etcd[Symbol.asyncDispose]();
    await used[Symbol.asyncDispose]();
  });

  /** Runs `incumbent` in a container until it ends. Throws if it fails. */
  function incumbent(...args: readonly string[]): Promise<string> {
    return docker.run(['run', '--rm', ...LOCKED_DOWN, '--env', `INCUMBENT_STORE=${store}`, image.name, ...args]);
  }

  /** Starts `incumbent` in a container, and returns the container. */
  async function start(...args: readonly string[]): Promise<string> {
    const id = (await docker.run(['run', '--detach', ...LOCKED_DOWN, '--env', `INCUMBENT_STORE=${store}`, image.name, ...args])).trim();
    started.push(id);
    return id;
  }

  /** Sends SIGTERM to the first process of the container, and returns its exit code. */
  async function terminate(container: string): Promise<number> {
    await docker.run(['kill', '--signal', 'SIGTERM', container]);
    return Number(await docker.run(['wait', container]));
  }

  /** The value of a JavaScript expression in the image. */
  async function evaluate(expression: string): Promise<unknown> {
    const script = `const fs = require('node:fs'); console.log(JSON.stringify(${expression}))`;
    return JSON.parse(await docker.run(['run', '--rm', ...LOCKED_DOWN, '--entrypoint', 'node', image.name, '--eval', script]));
  }

  function logsOf(container: string): Promise<string> {
    return docker.run(['logs', container]);
  }

  function says(container: string, text: string): Promise<true> {
    return until(async () => (await logsOf(container)).includes(text) || undefined, { what: `"${text}" in the log`, ...DEADLINE });
  }

  it('is the version of this checkout, and its labels say so', async () => {
    expect(await incumbent('--version')).toBe(`${cli?.version}\n`);
    const labels: unknown = JSON.parse(await docker.run(['image', 'inspect', '--format', '{{json .Config.Labels}}', image.name]));
    expect(labels).toMatchObject({
      'org.opencontainers.image.source': 'https://github.com/incumbent/incumbent',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': cli?.version,
    });
  });

  it('runs as a user that the image names by its number, and which is not root', async () => {
    expect((await docker.run(['image', 'inspect', '--format', '{{.Config.User}}', image.name])).trim()).toBe('1000:1000');
    expect(await evaluate('[process.getuid(), process.getgid()]')).toEqual([1000, 1000]);
  });

  it('has the adapters of all stores, and no dependency of development', async ({ annotate }) => {
    const listed = "fs.globSync('/opt/incumbent/node_modules/{*,@*/*}').map((path) => path.replace(/.*node_modules.(.*)/, '$1'))";
    const packages = new Set([...((await evaluate(listed)) as readonly string[])].filter((name) => !/^@[^/]*$/.test(name)));
    const productive = new Set(manifests.flatMap(({ dependencies = {} }) => Object.keys(dependencies)));
    const forDevelopment = manifests
      .flatMap(({ devDependencies = {} }) => Object.keys(devDependencies))
      .filter((name) => !productive.has(name));
    expect([...Object.keys(cli?.dependencies ?? {})].filter((name) => !packages.has(name))).toEqual([]);
    expect(forDevelopment.filter((name) => packages.has(name))).toEqual([]);
    await annotate(`${packages.size} packages: ${[...packages].join(', ')}`);
  });

  it('has no sources, types, maps or tests of ours, and adds little to its base image', async ({ annotate }) => {
    const files =
      "fs.globSync('/opt/incumbent/{,node_modules/{incumbent,@incumbent/*}/}{src,test}').concat(fs.globSync('/opt/incumbent/**/*.{ts,mts,cts,map}'))";
    expect(await evaluate(files)).toEqual([]);
    expect(image.addedBytes).toBeLessThan(MAX_ADDED_BYTES);
    await annotate(`the image adds ${(image.addedBytes / 1e6).toFixed(1)} MB to its base image`);
  });

  it('examines a store in another container', async () => {
    expect(await incumbent('doctor')).toMatch(/^no failures/m);
  });

  it('runs a program in one container, which SIGTERM ends, and then in the next one', async () => {
    const run = (member: string): Promise<string> =>
      start('run', '--election', 'runs', '--member', member, '--', 'node', '--eval', PROGRAM);
    const first = await run('first');
    await says(first, 'term 1');
    const second = await run('second');
    const candidates = async (): Promise<true | undefined> => (await incumbent('candidates', 'runs')).includes('second') || undefined;
    await until(candidates, { what: 'the second candidate', ...DEADLINE });
    expect(await incumbent('status')).toMatch(/^runs\s+first\s+1\s/m);
    // The exit code of the program.
    expect(await terminate(first)).toBe(7);
    await says(second, 'term 2');
    expect(await incumbent('leader', 'runs')).toContain('second');
    expect(await terminate(second)).toBe(7);
  });

  it('serves an election, hands over on SIGTERM, and exits with 0', async () => {
    const serve = (member: string): Promise<string> =>
      start('serve', '--election', 'serves', '--member', member, '--listen', '127.0.0.1:0');
    const first = await serve('first');
    const leads = async (member: string): Promise<void> => {
      const isLeader = async (): Promise<true | undefined> => {
        const said = await incumbent('leader', 'serves', '--json').catch(() => '');
        return said.includes(`"${member}"`) || undefined;
      };
      await until(isLeader, { what: `the leadership of ${member}`, ...DEADLINE });
    };
    await leads('first');
    await serve('second');
    const candidates = async (): Promise<true | undefined> => (await incumbent('candidates', 'serves')).includes('second') || undefined;
    await until(candidates, { what: 'the second candidate', ...DEADLINE });
    expect(await terminate(first)).toBe(0);
    await leads('second');
  });
});
