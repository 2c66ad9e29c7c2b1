/** Lets `JSON.stringify` write objects that hold bigints: a bigint becomes a decimal string. */

/**
 * Gives the object a `toJSON` that writes its bigints as decimal strings, also those in objects and
 * arrays within. The method is not enumerable, so comparisons, copies and loggers do not see it; a
 * copy by spreading does not have it. Returns the object.
 */
export function withJson<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', { value: toJson, configurable: true });
}

function toJson(this: object): unknown {
  return jsonOf({ ...this });
}

/** The object as JSON can hold it. Rejects a cycle as `JSON.stringify` does. */
export function jsonOf(fields: object): unknown {
  const text = JSON.stringify(fields, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  const json: unknown = JSON.parse(text);
  return json;
}
