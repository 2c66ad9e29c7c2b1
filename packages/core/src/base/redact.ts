/** Shows values that may hold a secret in errors, in logs and on the command line. */

const HOST = String.raw`(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?`;
const NETWORK_URL = new RegExp(
  String.raw`^([a-z][a-z0-9+.-]*://)(?:[^@/?#]*@)?(${HOST}(?:,${HOST})*(?:/[A-Za-z0-9._~/-]*)?)(?:\?[^@#]*)?$`,
);
/** These URLs have no credentials: a file, or a name within this process. */
const LOCAL_URL = /^(?:sqlite:(?!\/\/[^/]|[^?#]*:\/\/)[^?#]*|memory:[^?#@:]*$)/;
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//;

/**
 * Returns a URL without its credentials and parameters: `redis://host:6379/my-app`. A URL that
 * cannot be parsed for certain, such as one whose password contains an unescaped `@` or `/`, is
 * shown as its scheme and length. Text without a scheme is shown as its length.
 */
export function showUrl(url: string): string {
  const [, scheme, place] = NETWORK_URL.exec(url) ?? [];
  if (scheme !== undefined && place !== undefined) return `${scheme}${place}`;
  const local = LOCAL_URL.exec(url)?.[0];
  if (local !== undefined) return local;
  const start = SCHEME.exec(url)?.[0];
  return start === undefined ? describeHidden(url) : `${start}… (${url.length} characters)`;
}

/**
 * Returns the text of a server's answer with every occurrence of the secret replaced by `…`: a
 * proxy may repeat the request, which contains the secret.
 */
export function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, '…');
}

const LIKE_CREDENTIALS = /:\/\/|:.*@/s;
const SHOWN_CHARACTERS = 80;

/** A value as an error shows it: `shown` in the message, `detail` in `details`. */
export interface Shown {
  readonly shown: string;
  readonly detail: unknown;
}

/**
 * Shows a name or a path: quoted and cut after 80 characters in the message, whole in `details`.
 * Text that looks like a URL with credentials (it contains `://`, or a `:` before an `@`) is shown
 * as its length instead.
 */
export function showText(text: string): Shown {
  if (LIKE_CREDENTIALS.test(text)) return { shown: describeHidden(text), detail: describeHidden(text) };
  return { shown: JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text), detail: text };
}

/** Describes a value by its type and length, never by its content: `a string of 12 characters`. */
export function describeHidden(value: unknown): string {
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === undefined || value === null) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
