/**
 * Prints the demo's lines to standard output, with colours on a terminal unless `NO_COLOR` is set.
 */

import { styleText } from 'node:util';
import { now } from '../events.ts';

const colours = ['cyan', 'magenta', 'yellow', 'blue', 'green'] as const;
export const BROKERS: readonly string[] = ['broker-1', 'broker-2', 'broker-3', 'broker-4', 'broker-5'];

/** Each broker has its colour. */
export function who(broker: string, text: string = broker): string {
  return styleText(['bold', colours[BROKERS.indexOf(broker)] ?? 'white'], text);
}

export function names(brokers: readonly string[]): string {
  return brokers.map((broker) => who(broker)).join(', ');
}

export function strong(text: string): string {
  return styleText('bold', text);
}

export function quiet(text: string): string {
  return styleText('dim', text);
}

export function good(text: string): string {
  return styleText('green', text);
}

export function bad(text: string): string {
  return styleText(['bold', 'red'], text);
}

export function ms(value: number): string {
  return `${Math.round(value).toLocaleString('en')} ms`;
}

const REDRAW_EVERY_MS = 100;
const CLEAR_LINE = '\r\u001B[2K';

/** Prints the story as it happens. */
export class Screen {
  readonly #from = now();
  #acts = 0;

  title(text: string, ...details: readonly string[]): void {
    this.lines(['', `  ${strong(text)}`, ...details.map((detail) => `  ${quiet(detail)}`)]);
  }

  act(text: string): void {
    this.#acts += 1;
    this.lines(['', `  ${strong(`${this.#acts}  ${text}`)}`]);
  }

  /** Prints an event that has just happened. */
  tell(mark: string, text: string): void {
    const at = `${((now() - this.#from) / 1_000).toFixed(1)} s`;
    this.lines([`  ${quiet(at.padStart(7))}  ${mark} ${text}`]);
  }

  /** Prints a remark. */
  note(text: string): void {
    this.tell(quiet('·'), text);
  }

  lines(lines: readonly string[]): void {
    for (const line of lines) console.log(line);
  }

  /** On a terminal, shows how long something takes while it does. */
  async during<T>(text: string, task: Promise<T>): Promise<T> {
    if (!process.stdout.isTTY) return task;
    const from = now();
    const draw = (): void => {
      process.stdout.write(`${CLEAR_LINE}${' '.repeat(11)}${quiet(`… ${text}: ${((now() - from) / 1_000).toFixed(1)} s`)}`);
    };
    const timer = setInterval(draw, REDRAW_EVERY_MS);
    try {
      return await task;
    } finally {
      clearInterval(timer);
      process.stdout.write(CLEAR_LINE);
    }
  }
}
