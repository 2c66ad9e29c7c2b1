import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../run.ts';
import { isStopped } from '../stopped.ts';
import { supervise, type Supervised } from '../supervise.ts';
import { until } from '../until.ts';
import { LOG_TAIL_BYTES, type Instance, type InstancePlan } from './instance.ts';

const KILL_TIMEOUT_MS = 20_000;
const PAUSE_TIMEOUT_MS = 10_000;

/**
 * A server that runs as a process of this machine, from programs in `binaries`. It ends with this
 * process in any case.
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
    this.#process.signal(signal);
    // A server that ends slowly after a gentle signal, or that is paused, must not delay its user.
    const late = setTimeout(() => this.#process?.signal('SIGKILL'), KILL_TIMEOUT_MS);
    await exited;
    clearTimeout(late);
  }

  async pause(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    process.signal('SIGSTOP');
    await until(() => isStopped(process.pid), { what: `${this.#plan.name} to stand still`, withinMs: PAUSE_TIMEOUT_MS, everyMs: 2 });
  }

  async resume(): Promise<void> {
    this.#process?.signal('SIGCONT');
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
