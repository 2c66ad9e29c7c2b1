/** Signals to this process: passed on to the program, and what they mean besides. */

import { constants } from 'node:os';

import { Exit } from '../exit.ts';
import type { ProcessGroup } from './process-group.ts';

/** Whoever sends these wants the program to end, and this process with it. */
const STOPS = ['SIGTERM', 'SIGINT'] as const;
/** These are the program's alone, while there is one; they end a process that only waits. */
const ENDS_A_WAIT = ['SIGHUP', 'SIGQUIT'] as const;
const PASSED = ['SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;

export class Signals {
  readonly #stop = new AbortController();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  readonly #passed = new Set<NodeJS.Signals>();
  #group: ProcessGroup | undefined;
  #stoppedBy: NodeJS.Signals | undefined;

  constructor() {
    for (const name of [...STOPS, ...ENDS_A_WAIT, ...PASSED]) {
      const handler = (): void => this.#take(name);
      this.#handlers.set(name, handler);
      process.on(name, handler);
    }
  }

  /** Aborts at the first signal that means the end: nobody campaigns any more, and the program is not started again. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** The exit code where a signal ended it all, and no program's own is to be had. */
  get code(): number {
    return this.#stoppedBy === undefined ? Exit.OK : Exit.SIGNAL + constants.signals[this.#stoppedBy];
  }

  /** Whether the program got this signal from here: one that it ended by is no failure to be mended by a restart. */
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

  #take(name: NodeJS.Signals): void {
    const waits = this.#group === undefined;
    this.#passed.add(name);
    this.#group?.signal(name);
    if (includes(STOPS, name) || (waits && includes(ENDS_A_WAIT, name))) {
      this.#stoppedBy ??= name;
      this.#stop.abort();
    }
  }
}

function includes(names: readonly NodeJS.Signals[], name: NodeJS.Signals): boolean {
  return names.includes(name);
}
