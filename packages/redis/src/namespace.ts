/** The names that a namespace has on the server. `scripts/prelude.ts` lists all keys under them. */

export interface Keyspace {
  /**
   * The beginning of every key. The braces are a hash tag: a cluster keeps all of these keys in one
   * slot.
   */
  readonly tag: string;
  /** The beginning of the keys of the contract, and of no other key of the namespace. */
  readonly keyPrefix: string;
  /**
   * The channel on which scripts publish changes. It names the database, because all databases of a
   * server share their channels.
   */
  readonly channel: string;
}

export function keyspaceOf({ namespace, db }: { readonly namespace: string; readonly db: number }): Keyspace {
  const tag = `{${namespace}}`;
  return { tag, keyPrefix: `${tag}/`, channel: `${tag}:changes:${db}` };
}
