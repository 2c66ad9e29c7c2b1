/** A logger that records its events. */

import type { Logger } from '../../src/index.ts';

export interface LoggedEvent {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export class Events implements Logger {
  readonly all: LoggedEvent[] = [];

  debug(fields: object, message: string): void {
    this.all.push({ level: 'debug', message, fields: { ...fields } });
  }

  info(fields: object, message: string): void {
    this.all.push({ level: 'info', message, fields: { ...fields } });
  }

  warn(fields: object, message: string): void {
    this.all.push({ level: 'warn', message, fields: { ...fields } });
  }

  error(fields: object, message: string): void {
    this.all.push({ level: 'error', message, fields: { ...fields } });
  }

  /** The fields of every event whose message has this text in it. */
  about(text: string): readonly LoggedEvent['fields'][] {
    return this.all.filter(({ message }) => message.includes(text)).map(({ fields }) => fields);
  }
}
