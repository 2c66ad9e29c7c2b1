/**
 * Prints to a stream, which may be a terminal, a pipe that its reader has closed, or a file on a
 * full disk.
 */

import { randomInt } from 'node:crypto';
import { styleText } from 'node:util';

import { CliError, Exit } from '../exit.ts';
import { printable } from './printable.ts';

/** The part of a stream that the printer uses; `process.stdout` is one. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/**
 * Prints lines, tables and help. Colours are used on a terminal only, unless `NO_COLOR` is set or
 * `TERM` is `dumb`. Control characters are escaped, so text of other members cannot change the
 * terminal.
 */
export class Printer {
  /** Aborts when the stream cannot be written any more. The reason is a `CliError`. */
  readonly closed: AbortSignal;
  /** Columns of the terminal; infinite for other streams. */
  readonly width: number;
  readonly #stream: OutputStream;
  readonly #colours: boolean;
  /**
   * Encloses the escape codes that `style` adds. It is random, so no other text contains it. It is
   * an escape code itself, so commander does not count it when it aligns and wraps the help:
   * commander uses `stripVTControlCharacters`, which knows numbers of at most four digits.
   */
  readonly #delimiter = `\u001b[${Array.from({ length: 10 }, () => randomInt(1_000, 10_000)).join(';')}m`;

  constructor(stream: OutputStream, env: Readonly<Record<string, string | undefined>>) {
    const closed = new AbortController();
    this.closed = closed.signal;
    this.#stream = stream;
    // https://no-color.org: any value except the empty one disables colours.
    this.#colours = stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
    this.width = stream.columns ?? Infinity;
    stream.on('error', (error) => closed.abort(toCloseReason(error)));
  }

  get colours(): boolean {
    return this.#colours;
  }

  /** Prints one line, with control characters escaped. */
  line(text: string): void {
    this.#put(`${this.#escape(text)}\n`);
  }

  /** Prints text that has its own line ends, with other control characters escaped. */
  write(text: string): void {
    const lines = text.split('\n').map((line) => this.#escape(line));
    this.#put(lines.join('\n'));
  }

  /** The text in a style, for `line` and `write`. Unchanged without colours. */
  style(style: Style, text: string): string {
    if (!this.#colours) return text;
    const [open, close] = styleText(style, '|', { validateStream: false }).split('|');
    return [this.#delimiter, open, this.#delimiter, text, this.#delimiter, close, this.#delimiter].join('');
  }

  /**
   * Prints rows in aligned columns. The first row is the heading; the last column is not padded.
   */
  table(table: readonly (readonly string[])[]): void {
    const rows = table.map((row) => row.map(printable));
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    rows.forEach((row, index) => {
      const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
      this.line(index === 0 ? this.style('dim', cells.join('  ')) : cells.join('  '));
    });
  }

  /** Escapes control characters, except the codes of `style`, and removes the delimiters. */
  #escape(line: string): string {
    const parts = line.split(this.#delimiter).map((part, index) => (index % 2 === 0 ? printable(part) : part));
    return parts.join('');
  }

  #put(text: string): void {
    if (!this.closed.aborted) this.#stream.write(text);
  }
}

/** A reader that closes the pipe, such as `head`, needs no more output. That is not a failure. */
function toCloseReason(error: Error): CliError {
  const gone = 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
  return gone
    ? new CliError(Exit.OK, 'nobody reads the output any more')
    : new CliError(Exit.NO, `the output cannot be written: ${error.message}`);
}
