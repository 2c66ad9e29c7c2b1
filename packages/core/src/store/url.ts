/** What every adapter accepts as a URL. */

/** True for text and for a `URL`: everything else is an object of options. */
export function isUrl(input: unknown): input is string | URL {
  return typeof input === 'string' || input instanceof URL;
}

/**
 * The text of a URL, its scheme in lower case: `REDIS:` and `redis:` are the same (RFC 3986,
 * section 3.1).
 */
export function urlText(url: string | URL): string {
  return String(url).replace(/^[A-Za-z][A-Za-z0-9+.-]*(?=:)/, (scheme) => scheme.toLowerCase());
}
