/** The names that a namespace has on the server. `scripts/prelude.ts` lists all keys under them. */

export interface Keyspace {
  readonly namespace: string;
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
  /** The user of the server's access list. */
  readonly user: string;
}

/** What {@link keyspaceOf} needs of a store's settings. */
interface KeyspaceSettings {
  readonly namespace: string;
  readonly db: number;
  readonly credentials: { readonly username?: string | undefined } | undefined;
}

export function keyspaceOf({ namespace, db, credentials }: KeyspaceSettings): Keyspace {
  const tag = `{${namespace}}`;
  return { namespace, tag, keyPrefix: `${tag}/`, channel: `${tag}:changes:${db}`, user: credentials?.username ?? 'default' };
}
