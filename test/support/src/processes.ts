import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { compileCache } from './compile-cache.ts';
import { supervise, type ExitStatus, type Supervised } from './supervise.ts';
import { until } from './until.ts';

/** An event that a script reported with `emit`. */
export interface ScriptEvent {
  readonly event: string;
  /**
   * When it happened, in ns, as the script read the clock. Comparable with this process's
   * `process.hrtime.bigint()` on the same machine.
   */
  readonly at: bigint;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface SpawnOptions {
  readonly args?: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether to use the workspace's packages as they were last built, instead of their sources. */
  readonly built?: boolean;
  /**
   * The program that runs the script, with its options: another runtime, which loads the packages
   * as they were last built. Default this process's Node.
   */
  readonly runtime?: readonly [program: string, ...options: readonly string[]];
  /** The folder in which the script runs. Default that of this process. */
  readonly cwd?: string;
  /**
   * How much priority it leaves to other processes, from 0 (default) to 19. For large groups of
   * processes, which would otherwise slow down other tests.
   */
  readonly nice?: number;
  /** Called with each event as it arrives. */
  readonly onEvent?: (event: ScriptEvent) => void;
}

export interface WaitOptions {
  readonly withinMs: number;
  /** Considers events from this position of `events` on. Default 0. */
  readonly from?: number;
}

/** A running script in a process of its own. It ends with this process at the latest. */
export interface ScriptProcess extends AsyncDisposable {
  readonly pid: number;
  /** All events so far, in the order in which they were reported. */
  readonly events: readonly ScriptEvent[];
  /** The last 200 lines of the script's other output, for error messages. */
  readonly output: readonly string[];
  readonly running: boolean;
  /** Resolves when the script has ended and all its events have arrived. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /**
   * Resolves with the first event of this name, or the first one that matches. Rejects when
   * `withinMs` are over, or when the script has ended without it. The message contains the script's
   * events and output.
   */
  waitFor(wanted: string | ((event: ScriptEvent) => boolean), options: WaitOptions): Promise<ScriptEvent>;
  sigstop(): void;
  sigcont(): void;
  sigterm(): void;
  sigusr2(): void;
  sigkill(): void;
}

const OUTPUT_LINES = 200;

/** Tests read the output of scripts. What members warn of has tests of its own. */
const QUIET = ['--disable-warning=ExperimentalWarning', '--disable-warning=IncumbentWarning'];

/**
 * Starts a script on this process's Node, with the workspace's packages loaded from their sources.
 */
export async function spawnScript(script: URL | string, options: SpawnOptions = {}): Promise<ScriptProcess> {
  const file = script instanceof URL ? fileURLToPath(script) : script;
  const sources = options.built === true ? [] : ['--conditions=@incumbent/source'];
  const [program, ...flags] = options.runtime ?? [process.execPath, ...sources, ...QUIET];
  // The script does not inherit the Node options of a test runner.
  const { NODE_OPTIONS: _runner, ...inherited } = process.env;
  const process_ = await supervise(program, [...flags, file, ...(options.args ?? [])], {
    env: { ...compileCache(), ...inherited, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  if (options.nice !== undefined) setPriority(process_.pid, options.nice);
  return new Script(file, process_, options.onEvent);
}

class Script implements ScriptProcess {
  readonly events: ScriptEvent[] = [];
  readonly output: string[] = [];
  readonly exited: Promise<ExitStatus>;
  readonly #file: string;
  readonly #process: Supervised;
  readonly #onEvent: ((event: ScriptEvent) => void) | undefined;
  #ended = false;

  constructor(file: string, process: Supervised, onEvent: ((event: ScriptEvent) => void) | undefined) {
    this.#file = file;
    this.#process = process;
    this.#onEvent = onEvent;
    this.exited = this.#read();
  }

  get pid(): number {
    return this.#process.pid;
  }

  get running(): boolean {
    return this.#process.running;
  }

  async waitFor(wanted: string | ((event: ScriptEvent) => boolean), { withinMs, from = 0 }: WaitOptions): Promise<ScriptEvent> {
    const matches = typeof wanted === 'string' ? (event: ScriptEvent) => event.event === wanted : wanted;
    const find = () => this.events.slice(from).find(matches);
    const what = typeof wanted === 'string' ? `the event ${wanted}` : 'an event';
    const found = await until(() => find() ?? (this.#ended ? 'ended' : undefined), { what, withinMs, everyMs: 5 }).catch(
      (cause: unknown) => {
        throw new Error(this.#story(`${what} did not come within ${withinMs} ms`), { cause });
      },
    );
    if (found === 'ended') throw new Error(this.#story(`ended without ${what}`));
    return found;
  }

  sigstop(): void {
    this.#process.signal('SIGSTOP');
  }

  sigcont(): void {
    this.#process.signal('SIGCONT');
  }

  sigterm(): void {
    this.#process.signal('SIGTERM');
  }

  sigusr2(): void {
    this.#process.signal('SIGUSR2');
  }

  sigkill(): void {
    this.#process.signal('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sigkill();
    await this.exited;
  }

  async #read(): Promise<ExitStatus> {
    const { stdout, stderr, exited } = this.#process;
    await Promise.all([eachLine(stdout, (line) => this.#take(line)), eachLine(stderr, (line) => this.#print(line))]);
    const status = await exited;
    this.#ended = true;
    return status;
  }

  #take(line: string): void {
    const event = parseEvent(line);
    if (event === undefined) return this.#print(line);
    this.events.push(event);
    this.#onEvent?.(event);
  }

  #print(line: string): void {
    this.output.push(line);
    if (this.output.length > OUTPUT_LINES) this.output.shift();
  }

  #story(what: string): string {
    const events = this.events.map(({ event, at }) => `  ${at} ${event}`);
    return [`${this.#file}: ${what}; events:`, ...events, 'output:', ...this.output].join('\n');
  }
}

async function eachLine(stream: Readable | null, take: (line: string) => void): Promise<void> {
  if (stream === null) return;
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) take(line);
}

/** Undefined for a line that is not an event, because a script may print anything. */
function parseEvent(line: string): ScriptEvent | undefined {
  if (!line.startsWith('{')) return undefined;
  const told = parseObject(line);
  const { event, at, ...fields } = told ?? {};
  if (typeof event !== 'string' || typeof at !== 'string' || !/^\d+$/.test(at)) return undefined;
  return { event, at: BigInt(at), fields };
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
