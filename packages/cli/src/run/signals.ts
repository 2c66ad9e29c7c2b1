/** Passes signals to this process on to the program, and notes those that end `run`. */

import { constants } from 'node:os';

import { Exit } from '../exit.ts';
import type { ProcessGroup } from './process-group.ts';

/** These end the program, and then this process. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** These are passed on while a program runs, and end this process while none runs. */
const WAIT_SIGNALS = ['SIGHUP', 'SIGQUIT'] as const;
/** These are passed on, and otherwise ignored. */
const PASSED_SIGNALS = ['SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;

export class Signals {
  readonly #stop = new AbortController();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  readonly #passed = new Set<NodeJS.Signals>();
  #group: ProcessGroup | undefined;
  #stoppedBy: NodeJS.Signals | undefined;

  constructor() {
    for (const name of [...STOP_SIGNALS, ...WAIT_SIGNALS, ...PASSED_SIGNALS]) {
      const handler = (): void => this.#handle(name);
      this.#handlers.set(name, handler);
      process.on(name, handler);
    }
  }

  /** Aborts at the first signal that ends `run`: no further campaign, no restart of the program. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** The exit code if a signal ended `run` before there was a program. */
  get code(): number {
    return this.#stoppedBy === undefined ? Exit.OK : Exit.SIGNAL + constants.signals[this.#stoppedBy];
  }

  /**
   * Whether this process passed the signal on to the program. A program that it ended is not
   * restarted.
   */
  hasPassed(name: NodeJS.Signals | undefined): boolean {
    return name !== undefined && this.#passed.has(name);
  }

  passTo(group: ProcessGroup | undefined): void {
    this.#group = group;
    if (group !== undefined) this.#passed.clear();
  }

  close(): void {
    for (const [name, handler] of this.#handlers) process.off(name, handler);
  }

  #handle(name: NodeJS.Signals): void {
    const isWaiting = this.#group === undefined;
    this.#passed.add(name);
    this.#group?.signal(name);
    if (includes(STOP_SIGNALS, name) || (isWaiting && includes(WAIT_SIGNALS, name))) {
      this.#stoppedBy ??= name;
      this.#stop.abort();
    }
  }
}

function includes(names: readonly NodeJS.Signals[], name: NodeJS.Signals): boolean {
  return names.includes(name);
}
