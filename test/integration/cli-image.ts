/**
 * Builds docker/Dockerfile without a network. It uses base images that are made here, of Debian's
 * packages, the Node of this workspace, pnpm, and the npm packages that the build needs.
 */

import { createHash } from 'node:crypto';
import { cpSync, globSync, readFileSync, realpathSync } from 'node:fs';
import { chmod, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildImage, cached, canBeHad, dockerCommand, makeScratch, run, StoreUnavailable, type Engine } from '@incumbent/test-support';

const ROOT = join(import.meta.dirname, '../..');
const DOCKERFILE = join(ROOT, 'docker/Dockerfile');
const BUILD_MS = 300_000;
const IMAGE = 'incumbent/cli:test';
const NODE_IMAGE = 'incumbent/node:trixie';
const BUILD_IMAGE = 'incumbent/node-build:trixie';

/** What the official image has that the image and its build use, and what the build downloads. */
const BASES = `
ARG LIBRARIES
FROM \${LIBRARIES} AS node
COPY node /usr/local/bin/node

FROM node AS build
COPY npx /usr/local/bin/npx
COPY pnpm /usr/local/bin/pnpm
COPY store /opt/store
ENV pnpm_config_store_dir=/opt/store pnpm_config_offline=true pnpm_config_minimum_release_age=0
`;

/**
 * Starts the pnpm of the image in place of one that npx would download: `npx -y pnpm@12.21.0 …`.
 */
const NPX = `#!/bin/sh
[ "$1 $2" = "-y pnpm@PNPM_VERSION" ] || exit 1
shift 2
exec pnpm "$@"
`;

/**
 * Whether the command `docker` is available, and the npm packages that the build needs. If not,
 * writes what was tried to standard error. Downloads the packages the first time.
 */
export function requireBuild(): Promise<boolean> {
  return canBeHad(async () => {
    await dockerCommand();
    await packageStore(pnpmVersion()).catch((error: unknown) => {
      throw new StoreUnavailable('npm packages of the build', [error instanceof Error ? error.message : String(error)]);
    });
  });
}

/** The `docker` command, for one engine. */
export class Docker {
  readonly #program: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(program: string, engine: Engine) {
    this.#program = program;
    // The older builder is part of every engine, while BuildKit needs a plug-in of the command.
    this.#env = { ...process.env, DOCKER_HOST: engine.url, DOCKER_BUILDKIT: '0' };
  }

  static async open(engine: Engine): Promise<Docker> {
    return new Docker(await dockerCommand(), engine);
  }

  /** Runs the command until it ends, and returns its standard output. Throws if it fails. */
  run(args: readonly string[], timeoutMs = 120_000): Promise<string> {
    return run(this.#program, args, { env: this.#env, timeoutMs });
  }
}

export interface CliImage {
  readonly name: string;
  /** What the image adds to its base image. */
  readonly addedBytes: number;
}

/** Builds the image of the command from this checkout. */
export async function buildCliImage(engine: Engine): Promise<CliImage> {
  const docker = await Docker.open(engine);
  await buildBases(engine, docker);
  const bases = ['--build-arg', `NODE_IMAGE=${NODE_IMAGE}`, '--build-arg', `BUILD_IMAGE=${BUILD_IMAGE}`];
  await docker.run(['build', '--network', 'none', ...bases, '--file', DOCKERFILE, '--tag', IMAGE, ROOT], BUILD_MS);
  const sizes = await Promise.all([IMAGE, NODE_IMAGE].map((image) => docker.run(['image', 'inspect', '--format', '{{.Size}}', image])));
  const [all = 0, base = 0] = sizes.map(Number);
  return { name: IMAGE, addedBytes: all - base };
}

async function buildBases(engine: Engine, docker: Docker): Promise<void> {
  const libraries = await buildImage(engine, {
    name: 'incumbent/libraries:trixie',
    release: 'trixie',
    packages: ['libgcc-s1', 'libstdc++6'],
    instructions: ['CMD ["sh"]'],
  });
  const scratch = await makeScratch('node-image');
  try {
    const place = (name: string): string => join(scratch.path, name);
    const version = pnpmVersion();
    await cp(realpathSync(join(ROOT, 'node_modules/node/bin/node')), place('node'));
    await cp(await pnpmProgram(version), place('pnpm'));
    await cp(await packageStore(version), place('store'), { recursive: true });
    await writeFile(place('npx'), NPX.replace('PNPM_VERSION', version));
    await chmod(place('npx'), 0o755);
    await writeFile(place('Dockerfile'), BASES);
    const build = (target: string, name: string): Promise<string> =>
      docker.run(['build', '--build-arg', `LIBRARIES=${libraries}`, '--target', target, '--tag', name, scratch.path], BUILD_MS);
    await build('node', NODE_IMAGE);
    await build('build', BUILD_IMAGE);
  } finally {
    await scratch.remove();
  }
}

/** The version of pnpm that the Dockerfile uses. */
function pnpmVersion(): string {
  const [version, ...others] = new Set(readFileSync(DOCKERFILE, 'utf8').match(/(?<=\bpnpm@)[\d.]+/g));
  if (version === undefined || others.length > 0) throw new Error(`${DOCKERFILE} has not exactly one version of pnpm`);
  return version;
}

/** The program of pnpm, which needs no other file of its package here. */
async function pnpmProgram(version: string): Promise<string> {
  const folder = await cached(join('programs', `pnpm-${version}-${process.arch}`), async (draft) => {
    await run('npm', ['install', '--prefix', draft, '--no-audit', '--no-fund', `pnpm@${version}`], { timeoutMs: BUILD_MS });
  });
  return join(folder, 'node_modules/pnpm/pnpm');
}

/** A store of pnpm with the packages that the build needs, as the lockfile names them. */
async function packageStore(version: string): Promise<string> {
  const pnpm = await pnpmProgram(version);
  const hash = createHash('sha256')
    .update(version)
    .update(readFileSync(join(ROOT, 'pnpm-lock.yaml')))
    .digest('hex')
    .slice(0, 16);
  return cached(join('programs', `pnpm-store-${hash}-${process.arch}`), async (folder) => {
    const scratch = await makeScratch('workspace');
    try {
      for (const file of globSync(['package.json', 'pnpm-*.yaml', 'packages/*/package.json'], { cwd: ROOT })) {
        await mkdir(join(scratch.path, dirname(file)), { recursive: true });
        cpSync(join(ROOT, file), join(scratch.path, file));
      }
      const filters = ['incumbent-workspace', '@incumbent/cli...'].flatMap((name) => ['--filter', name]);
      const options = ['--frozen-lockfile', '--prod', '--ignore-scripts', '--prefer-offline', '--store-dir', folder];
      await run(pnpm, ['install', ...options, ...filters], { cwd: scratch.path, timeoutMs: BUILD_MS });
      // Projects that use the store, of which none exists any more.
      await rm(join(folder, 'v11/projects'), { recursive: true, force: true });
    } finally {
      await scratch.remove();
    }
  });
}
