/** Reads the fields of events, whose types are checked when they are read. */

/** The fields of one event. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a message, which are none if it is not an object. */
export function fieldsOf(message: unknown): Fields {
  return typeof message === 'object' && message !== null ? { ...message } : {};
}

/** Empty if the field is not a text. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

/** 0 if the field is not a number. */
export function numberOf(fields: Fields, name: string): number {
  const value = fields[name];
  return typeof value === 'number' ? value : 0;
}

/** Undefined if the field is not a term. */
export function termOf(fields: Fields, name = 'term'): bigint | undefined {
  const value = fields[name];
  return typeof value === 'bigint' ? value : undefined;
}

/** The code of an error, or else its name. Its message may contain an address. */
export function errorOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
