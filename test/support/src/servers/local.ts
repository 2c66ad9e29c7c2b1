import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../run.ts';
import { hasEnded, isStopped } from '../stopped.ts';
import { supervise, type Supervised } from '../supervise.ts';
import { until } from '../until.ts';
import { LOG_TAIL_BYTES, type Instance, type InstancePlan } from './instance.ts';

const KILL_TIMEOUT_MS = 20_000;
const PAUSE_TIMEOUT_MS = 10_000;

/**
 * A server that runs as a process of this machine, from programs in `binaries`, with the processes
 * that it has started itself. It ends with this process in any case.
 */
export class LocalInstance implements Instance {
  readonly #binaries: string;
  readonly #plan: InstancePlan;
  #process: Supervised | undefined;

  constructor(binaries: string, plan: InstancePlan) {
    this.#binaries = binaries;
    this.#plan = plan;
  }

  async start(): Promise<void> {
    const { program, args, folder } = this.#plan;
    const log = await open(this.#logFile, 'a');
    try {
      const output = { stdout: log.fd, stderr: log.fd };
      this.#process = await supervise(join(this.#binaries, program), args, {
        ...output,
        folder,
        cwd: folder,
        env: this.#env,
      });
    } finally {
      await log.close();
    }
  }

  async running(): Promise<boolean> {
    return this.#process?.running ?? false;
  }

  async canExec(): Promise<boolean> {
    return true;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#process === undefined) return;
    const { exited } = this.#process;
    const process = this.#process;
    if (signal === 'SIGKILL') return this.#killAll(process);
    process.signal(signal);
    // A server that ends slowly after a gentle signal, or that is paused, must not delay its user.
    const late = setTimeout(() => void this.#killAll(process), KILL_TIMEOUT_MS);
    await exited;
    clearTimeout(late);
  }

  /** Its children could still serve their clients, and hold its files and ports. */
  async #killAll(process: Supervised): Promise<void> {
    if (!process.running) return;
    // A process that stands still starts no others.
    process.signal('SIGSTOP');
    const children = await childrenOf(process.pid);
    process.signal('SIGKILL');
    for (const pid of children) send(pid, 'SIGKILL');
    await process.exited;
    const gone = async (): Promise<boolean> => (await Promise.all(children.map(hasEnded))).every(Boolean);
    await until(gone, { what: `the end of the children of ${this.#plan.name}`, withinMs: KILL_TIMEOUT_MS, everyMs: 2 });
  }

  async pause(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    const still = { what: `${this.#plan.name} to stand still`, withinMs: PAUSE_TIMEOUT_MS, everyMs: 2 };
    process.signal('SIGSTOP');
    await until(() => isStopped(process.pid), still);
    const children = await childrenOf(process.pid);
    for (const pid of children) send(pid, 'SIGSTOP');
    await until(async () => (await Promise.all(children.map(isStopped))).every(Boolean), still);
  }

  async resume(): Promise<void> {
    if (this.#process?.running !== true) return;
    for (const pid of await childrenOf(this.#process.pid)) send(pid, 'SIGCONT');
    this.#process.signal('SIGCONT');
  }

  exec(program: string, args: readonly string[]): Promise<string> {
    return run(join(this.#binaries, program), args, { env: this.#env });
  }

  async logTail(): Promise<string> {
    return (await readFile(this.#logFile, 'utf8').catch(() => '')).slice(-LOG_TAIL_BYTES);
  }

  remove(): Promise<void> {
    return this.kill();
  }

  get #env(): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], ...this.#plan.env };
  }

  get #logFile(): string {
    return join(this.#plan.folder, `${this.#plan.name}.log`);
  }
}

/**
 * The processes that a process has started and that have not ended. Empty on systems without
 * `/proc`. Each thread has its own.
 */
async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')));
  return lists.flatMap((list) => list.split(' ').map(Number)).filter((child) => child > 0);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has just ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
