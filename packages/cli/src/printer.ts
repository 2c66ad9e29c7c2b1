/** What the command writes to: a stream that may be a terminal, a pipe whose reader has gone, or a file on a full disk. */

import { randomUUID } from 'node:crypto';
import { styleText } from 'node:util';

import { CliError, Exit } from './exit.ts';
import { printable } from './printable.ts';

/** What is asked of a stream: `process.stdout` fits. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

export class Printer {
  /** Aborts when nothing can be written any more: the reader has gone, or the disk is full. Its reason is a `CliError`. */
  readonly closed: AbortSignal;
  readonly width: number;
  readonly #stream: OutputStream;
  readonly #colours: boolean;
  /** Stands around what `style` adds: nobody else's text has it. */
  readonly #mark = randomUUID();

  constructor(stream: OutputStream, env: Readonly<Record<string, string | undefined>>) {
    const closed = new AbortController();
    this.closed = closed.signal;
    this.#stream = stream;
    // https://no-color.org: any value but an empty one.
    this.#colours = stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
    this.width = stream.columns ?? Infinity;
    stream.on('error', (error) => closed.abort(endOf(error)));
  }

  get colours(): boolean {
    return this.#colours;
  }

  /** One line. Control characters in it are shown as their codes: member ids, reasons and servers' messages come from others. */
  line(text: string): void {
    const parts = text.split(this.#mark).map((part, index) => (index % 2 === 0 ? printable(part) : part));
    this.#put(`${parts.join('')}\n`);
  }

  /** Text as commander made it, its line ends included. */
  write(text: string): void {
    this.#put(text.split('\n').map(printable).join('\n'));
  }

  /** For `line`. */
  style(style: Style, text: string): string {
    if (!this.#colours) return text;
    const [open, close] = styleText(style, '|', { validateStream: false }).split('|');
    return [this.#mark, open, this.#mark, text, this.#mark, close, this.#mark].join('');
  }

  /** Columns, two spaces apart; the first row is the heading. The last column is as long as it is. */
  table(table: readonly (readonly string[])[]): void {
    const rows = table.map((row) => row.map(printable));
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    rows.forEach((row, index) => {
      const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
      this.line(index === 0 ? this.style('dim', cells.join('  ')) : cells.join('  '));
    });
  }

  #put(text: string): void {
    if (!this.closed.aborted) this.#stream.write(text);
  }
}

/** Whoever closes the pipe has seen enough: that is no failure. */
function endOf(error: Error): CliError {
  const gone = 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
  return gone
    ? new CliError(Exit.OK, 'nobody reads the output any more')
    : new CliError(Exit.NO, `the output cannot be written: ${error.message}`);
}
