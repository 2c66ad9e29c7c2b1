/**
 * JSON of any value. Lets `JSON.stringify` write objects that hold bigints and errors: a bigint
 * becomes a decimal string, and an error becomes its name, code, message and cause. Bounds how
 * deeply a text is nested.
 */

/**
 * Gives the object a `toJSON` that writes its bigints as decimal strings, and its errors by name,
 * code, message and cause, also those in objects and arrays within. The method is not enumerable,
 * so comparisons, copies and loggers do not see it; a copy by spreading does not have it. Returns
 * the object.
 */
export function withJson<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', { value: toJson, configurable: true });
}

function toJson(this: object): unknown {
  return jsonOf({ ...this });
}

/** The object as JSON can hold it. Rejects a cycle of objects as `JSON.stringify` does. */
export function jsonOf(fields: object): unknown {
  const text = JSON.stringify(fields, plain);
  const json: unknown = JSON.parse(text);
  return json;
}

/** `JSON.stringify` calls this with a value, after its `toJSON`, on the object that holds it. */
function plain(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  const original = this[name];
  return original instanceof Error && !isOwn(original) ? fieldsOf(original, MAX_CAUSES) : value;
}

/** The most causes of an error that are written: an error may be its own cause. */
const MAX_CAUSES = 4;

/**
 * An error of another library. The other properties of the error, and the `toJSON` of its class,
 * are left out: they may show the request with its credentials.
 */
function fieldsOf(error: Error, causes: number): object {
  const { name, message, cause } = error;
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
  return { name, code, message, cause: causes === 0 ? undefined : causeOf(cause, causes) };
}

function causeOf(cause: unknown, causes: number): unknown {
  if (cause instanceof Error) return isOwn(cause) ? cause : fieldsOf(cause, causes - 1);
  return typeof cause === 'object' && cause !== null ? 'an object' : cause;
}

/** Whether this is an `IncumbentError` of any copy of the package. Its `toJSON` hides secrets. */
function isOwn(error: Error): boolean {
  return 'code' in error && 'details' in error && 'toJSON' in error;
}

/** The deepest nesting of arrays and objects in a published value. */
export const MAX_VALUE_DEPTH = 1_000;

/**
 * True if arrays and objects in the JSON text are nested more than `levels` deep. `JSON.parse`
 * reads any depth, but `JSON.stringify`, which writes a record again, overflows the stack at a few
 * thousand levels.
 */
export function nestsDeeperThan(levels: number, json: string): boolean {
  if (json.length <= levels) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') isText = !isText;
    else if (isText && character === '\\') at += 1;
    else if (!isText && (character === '[' || character === '{')) depth += 1;
    else if (!isText && (character === ']' || character === '}')) depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}
