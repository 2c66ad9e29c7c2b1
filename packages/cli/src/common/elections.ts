/** What commands say about an election that may not exist. */

import type { ElectionState, Store } from '@incumbent/core';

import { electionNames } from '../doctor/probe-target.ts';

/** How many elections a message names. */
const MAX_NAMED = 5;

/** `the namespace "my-app"` of the store. */
export function showNamespace({ namespace }: Store): string {
  return namespace === undefined ? 'this store' : `the namespace "${namespace}"`;
}

/**
 * Says that nobody leads. If nobody ever has, the name or the namespace may be wrong, so the text
 * has the namespace and its elections. Listing them is one request.
 */
export async function showVacant(store: Store, { name, term }: Pick<ElectionState, 'name' | 'term'>): Promise<string> {
  if (term !== undefined) return `nobody leads "${name}" (the last term was ${term})`;
  return `nobody leads "${name}", and nobody ever has: ${await showElections(store, name)}`;
}

/** The elections of the namespace besides `name`, as the rest of a sentence. Never rejects. */
export async function showElections(store: Store, name: string): Promise<string> {
  const place = showNamespace(store);
  // The user may not have the right to list keys, and needs none for the answer itself.
  const names = await electionNames(store).catch(() => undefined);
  if (names === undefined) return `the elections of ${place} cannot be listed`;
  const others = names.filter((other) => other !== name);
  if (others.length === 0) return `there has been no other election in ${place}`;
  const more = others.length > MAX_NAMED ? `, and ${others.length - MAX_NAMED} more` : '';
  return `${place} has the elections ${others.slice(0, MAX_NAMED).join(', ')}${more}`;
}
