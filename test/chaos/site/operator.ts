/** What an operator reads in the store before changing it by hand. */

import { openStore } from 'incumbent';
import { ELECTION, NAMESPACE } from '../names.ts';

const CALL_MS = 2_000;

/**
 * The leader's entry in the queue, as the store's own tools name it. Throws if there is no leader.
 */
export async function holdersEntry(url: string): Promise<string> {
  await using store = await openStore(url);
  const record = await store.read(`elections/${ELECTION}/leader`, { timeoutMs: CALL_MS });
  const { entry }: { readonly entry?: unknown } = record === undefined ? {} : Object(JSON.parse(Buffer.from(record.value).toString()));
  if (typeof entry !== 'string') throw new Error('there is no record that names an entry');
  return `${NAMESPACE}/${entry}`;
}
