/** What errors, logs and the command line show of values that may hold a secret. */

const HOST = String.raw`(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?`;
const NETWORK_URL = new RegExp(
  String.raw`^([a-z][a-z0-9+.-]*://)(?:[^@/?#]*@)?(${HOST}(?:,${HOST})*(?:/[A-Za-z0-9._~/-]*)?)(?:\?[^@#]*)?$`,
);
/** These URLs have no credentials: a file, or a name within this process. */
const LOCAL_URL = /^(?:sqlite:(?!\/\/[^/]|[^?#]*:\/\/)[^?#]*|memory:[^?#@:]*$)/;
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//;

/**
 * Shows a URL without its credentials and parameters: `redis://host:6379/my-app`. A URL whose parts
 * cannot be told apart for certain may have its password anywhere, as when the password has a bare
 * `@` or `/` in it. Such a URL is shown as its scheme and length, and text without a scheme as its
 * length.
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
 * The text without a secret that was sent to whoever answers with it: a proxy may repeat the
 * request.
 */
export function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, '…');
}

const LIKE_CREDENTIALS = /:\/\/|:.*@/s;
const SHOWN_CHARACTERS = 80;

/** A value as an error shows it: in its message, and in its `details`. */
export interface Shown {
  readonly shown: string;
  readonly detail: unknown;
}

/**
 * Shows a name or a path: quoted, and cut after 80 characters, in the message; whole in `details`.
 * Text that looks like a URL with credentials, with `://` or a `:` before a `@` in it, is described
 * instead.
 */
export function showText(text: string): Shown {
  if (LIKE_CREDENTIALS.test(text)) return { shown: describeHidden(text), detail: describeHidden(text) };
  return { shown: JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text), detail: text };
}

/** The type of a value and its length, never the value: `a string of 12 characters`. */
export function describeHidden(value: unknown): string {
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === undefined || value === null) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
