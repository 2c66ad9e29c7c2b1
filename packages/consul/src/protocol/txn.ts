/** Transactions: either all operations of a transaction are applied, or none. */

import type { AttemptOptions } from '@incumbent/network';

import type { Client } from '../client/client.ts';
import { fields, index, items, parse, text } from './json.ts';
import { CONSISTENT, pairOf, type Pair } from './kv.ts';

/** The most operations that servers accept in one transaction. */
export const MAX_OPERATIONS = 64;

/** The longest body of a transaction, by the servers' default settings. */
export const MAX_BODY_BYTES: number = 512 * 1_024;

interface Write {
  readonly path: string;
  readonly value: Uint8Array;
  /**
   * A number that Consul keeps beside the value. A write that changes neither the value nor the
   * flags changes no index.
   */
  readonly flags: number;
}

export type Operation =
  | { readonly verb: 'check-not-exists'; readonly path: string }
  | { readonly verb: 'check-index'; readonly path: string; readonly index: number }
  /** With index 0, the key must be absent. Does not change which session has locked the key. */
  | (Write & { readonly verb: 'cas'; readonly index: number })
  | (Write & { readonly verb: 'lock' | 'unlock'; readonly session: string })
  | { readonly verb: 'delete'; readonly path: string };

export type TxnResult =
  /** In the order of the operations, without those that return nothing. The values are left out. */
  | { readonly done: true; readonly pairs: readonly Pair[] }
  /** Nothing was applied. */
  | { readonly done: false; readonly errors: readonly { readonly operation: number; readonly what: string }[] };

export function encode(operations: readonly Operation[]): string {
  return JSON.stringify(operations.map((operation) => ({ KV: wireOf(operation) })));
}

/** `body` comes from {@link encode}. */
export async function transact(client: Client, body: string, options: AttemptOptions): Promise<TxnResult> {
  // To Consul, a transaction that only checks is a read.
  const response = await client.request({ method: 'PUT', path: '/v1/txn', query: CONSISTENT, body, accept: [409] }, options);
  const result = fields(parse(response.text));
  if (response.status === 200) return { done: true, pairs: items(result.get('Results')).map((item) => pairOf(fields(item).get('KV'))) };
  const errors = items(result.get('Errors')).map(fields);
  return { done: false, errors: errors.map((error) => ({ operation: index(error, 'OpIndex'), what: text(error, 'What') })) };
}

function wireOf(operation: Operation): object {
  const wire = { Verb: operation.verb, Key: operation.path };
  switch (operation.verb) {
    case 'check-not-exists':
    case 'delete':
      return wire;
    case 'check-index':
      return { ...wire, Index: operation.index };
    case 'cas':
      return { ...wire, ...writeOf(operation), Index: operation.index };
    case 'lock':
    case 'unlock':
      return { ...wire, ...writeOf(operation), Session: operation.session };
    default:
      return operation satisfies never;
  }
}

function writeOf({ value, flags }: Write): object {
  return { Value: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'), Flags: flags };
}
