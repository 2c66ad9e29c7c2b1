/** One value as one line of JSON: terms as strings of digits, errors as their code and message. */

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'bigint') return String(part);
    if (part instanceof Error) return 'code' in part ? { code: part.code, message: part.message } : { message: part.message };
    return part;
  });
}

/** A member's published value on one line; empty if it publishes none. */
export function showValue(value: unknown): string {
  return value === undefined ? '' : toJson(value);
}
