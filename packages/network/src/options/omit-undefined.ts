/** Options whose values may be undefined. */

/** The options that are given: those whose value is not undefined. */
export type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };

/**
 * Leaves out the properties that are undefined, so that optional parts of a URL can be listed as
 * they are read: `omitUndefined({ acl: url.text('acl') })`.
 */
export function omitUndefined<T extends object>(values: T): Given<T>;
export function omitUndefined(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
