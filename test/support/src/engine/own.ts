import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LOOPBACK } from '../ports.ts';
import { makeScratch, type Scratch } from '../scratch.ts';
import { supervise, type Supervised } from '../supervise.ts';
import { until } from '../until.ts';
import { newCgroup, removeCgroups } from './cgroups.ts';
import { Engine } from './engine.ts';
import { enginePrograms } from './programs.ts';
import { SPACES } from './rights.ts';

const START_MS = 30_000;
const END_MS = 5_000;
const LOG_TAIL_BYTES = 4_000;

/** Short, because the firewall's programs truncate the path of their extensions after 256 bytes. */
const PREPARE = `
set -e
mount -t tmpfs tmpfs /run
if [ -n "$XTABLES" ]; then ln -s "$XTABLES" /run/xtables; export XTABLES_LIBDIR=/run/xtables; fi
if [ "$NETWORK" = own ]; then ip link set lo up; fi
exec dockerd "$@"
`;

/** Creates no interface and no firewall rule on the machine. */
const TOUCHES_NOTHING = ['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false'] as const;

export interface OwnEngineOptions {
  /**
   * 'shared': containers can use the machine's network, and have no other. 'own': the engine has a
   * network of its own, in which containers have addresses and publish ports. The machine can reach
   * it only by {@link OwnEngine.within}. Default 'shared'.
   */
  readonly network?: 'shared' | 'own';
}

/**
 * A container engine that this process has started. It ends with this process at the latest,
 * together with its containers and images.
 */
export interface OwnEngine extends AsyncDisposable {
  readonly engine: Engine;
  /** The environment variables that testcontainers needs to use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns a command that runs `command` in the engine's network. */
  within(command: readonly string[]): readonly string[];
  /** Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts an engine in a temporary folder, and resolves when it answers. Needs root and Docker's
 * daemon, installed or from Debian's packages. Throws `StoreUnavailable` if that is impossible.
 */
export async function startEngine({ network = 'shared' }: OwnEngineOptions = {}): Promise<OwnEngine> {
  const programs = await enginePrograms();
  await removeCgroups();
  const scratch = await makeScratch('engine');
  const own = new DockerDaemon(scratch, network);
  try {
    await own.start(programs);
    return own;
  } catch (error) {
    await own.stop();
    throw error;
  }
}

class DockerDaemon implements OwnEngine {
  readonly engine: Engine;
  readonly #scratch: Scratch;
  readonly #network: 'shared' | 'own';
  readonly #cgroup = newCgroup();
  #daemon: Supervised | undefined;
  #stopped: Promise<void> | undefined;

  constructor(scratch: Scratch, network: 'shared' | 'own') {
    this.#scratch = scratch;
    this.#network = network;
    this.engine = new Engine(join(scratch.path, 'docker.sock'));
  }

  async start(programs: Readonly<Record<string, string>>): Promise<void> {
    const log = await open(this.#logFile, 'a');
    const spaces = [...SPACES, ...(this.#network === 'own' ? ['--net'] : [])];
    try {
      this.#daemon = await supervise('unshare', [...spaces, 'sh', '-c', PREPARE, 'dockerd', ...this.#flags()], {
        stdout: log.fd,
        stderr: log.fd,
        env: { ...process.env, ...programs, NETWORK: this.#network },
        folder: this.#scratch.path,
      });
    } finally {
      await log.close();
    }
    const look = async (): Promise<'answers' | 'ended' | undefined> => {
      if (this.#daemon?.running !== true) return 'ended';
      return (await this.engine.answers()) ? 'answers' : undefined;
    };
    const outcome = await until(look, { what: 'dockerd', withinMs: START_MS }).catch(() => 'ended');
    if (outcome === 'ended') throw new Error(`dockerd does not answer; its log ends with:\n${await this.#logTail()}`);
  }

  /**
   * The images of its helpers are only in a registry. A network without a gateway has no gateway
   * address.
   */
  get env(): Readonly<Record<string, string>> {
    return { DOCKER_HOST: this.engine.url, TESTCONTAINERS_RYUK_DISABLED: 'true', TESTCONTAINERS_HOST_OVERRIDE: LOOPBACK };
  }

  within(command: readonly string[]): readonly string[] {
    return this.#network === 'shared' ? command : ['nsenter', `--net=/proc/${this.#daemon?.pid ?? 0}/ns/net`, '--', ...command];
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #flags(): readonly string[] {
    const place = (name: string): string => join(this.#scratch.path, name);
    return [
      ...['--host', this.engine.url, '--pidfile', place('dockerd.pid')],
      ...['--data-root', place('data'), '--exec-root', place('exec'), '--cgroup-parent', `/${this.#cgroup}`],
      ...(this.#network === 'own' ? [] : TOUCHES_NOTHING),
    ];
  }

  /** Removes containers first. What is left then are empty control groups. */
  async #stop(): Promise<void> {
    const containers = await this.engine.containers().catch(() => []);
    await Promise.allSettled(containers.map(({ id }) => this.engine.remove(id)));
    if (this.#daemon !== undefined) await end(this.#daemon);
    await removeCgroups(this.#cgroup);
    await this.#scratch.remove();
  }

  async #logTail(): Promise<string> {
    return (await readFile(this.#logFile, 'utf8').catch(() => '')).slice(-LOG_TAIL_BYTES);
  }

  get #logFile(): string {
    return join(this.#scratch.path, 'dockerd.log');
  }
}

/**
 * Ends a process that was started in namespaces of its own. The process that created them reports
 * the end and ends as well.
 */
async function end(maker: Supervised): Promise<void> {
  const children = await readFile(`/proc/${maker.pid}/task/${maker.pid}/children`, 'utf8').catch(() => '');
  for (const pid of children.split(' ').map(Number)) if (pid > 0 && maker.running) process.kill(pid, 'SIGKILL');
  const late = setTimeout(() => maker.signal('SIGKILL'), END_MS);
  await maker.exited;
  clearTimeout(late);
}
