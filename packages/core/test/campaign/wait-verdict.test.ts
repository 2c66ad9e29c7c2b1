/** What a waiting candidate knows, and whether that ends its wait. */

import { expect, it } from 'vitest';
import { verdictOn, type Known } from '../../src/campaign/wait-verdict.ts';
import { late, me, other, successor } from '../support/campaigns.ts';
import { termOf } from '../support/candidates.ts';

/** Next in line, on a store in which each key of a swap has its own revision. */
const nothing: Known = {
  aheadKey: other.key,
  entryKey: me.key,
  aheadGone: false,
  recordIsOwn: false,
  ownEvent: undefined,
  termEntry: termOf(4n, other),
  followsTerm: true,
  capabilities: { assignableLease: true },
};
const unseen = { termEntry: undefined };
const unwatched = { termEntry: undefined, followsTerm: false };
const endedAhead = { termEntry: termOf(4n, other, { reason: 'resigned' }) };
const ownTerm = { termEntry: termOf(5n, me) };
const otherTerm = { termEntry: termOf(5n, late) };
const aheadGone = { aheadGone: true };
const recordIsOwn = { recordIsOwn: true };
const removed = { ownEvent: 'removed' } as const;
const changed = { ownEvent: 'entryChanged' } as const;
const sharedRevision = { capabilities: { assignableLease: true, revisionInSwap: (entry: string) => entry } };
const noAssignableLease = { capabilities: { assignableLease: false } };

const endsNow: readonly (readonly [claim: string, known: Partial<Known>])[] = [
  ['the term of the one ahead has ended', endedAhead],
  ['the term of the one ahead has ended, whatever else may follow', { ...endedAhead, ...aheadGone, ...recordIsOwn, ...changed }],
  ['its own entry was deleted', removed],
  ['its own entry was deleted, whatever else may follow', { ...removed, ...aheadGone, ...recordIsOwn, ...unseen }],
  ['its own entry has changed, and the new term is its own', { ...changed, ...ownTerm }],
  ['its own entry has changed, and the term is not watched', { ...changed, ...unwatched }],
  ['its own entry has changed, and the revision of the entry is that of the term', { ...changed, ...sharedRevision }],
  ['its own entry has changed, and no handover is one swap', { ...changed, ...noAssignableLease }],
  ['the one ahead is gone, and the term is not watched', { ...aheadGone, ...unwatched }],
  ['the one ahead is gone, and the term is of another candidate', { ...aheadGone, ...otherTerm }],
  [
    'the one ahead is gone, and its term has named a successor',
    { ...aheadGone, termEntry: termOf(4n, other, { ...successor(late), nobodyAhead: true }) },
  ],
];

const endsSoon: readonly (readonly [claim: string, known: Partial<Known>])[] = [
  ['its own entry has changed, and the new term may follow', changed],
  ['its own entry has changed, and the watch has shown no term yet', { ...changed, ...unseen }],
  ["the leader's record is its own, and the mark may follow", recordIsOwn],
  ["the leader's record is its own, and the term is not watched", { ...recordIsOwn, ...aheadGone, ...unwatched }],
  ['the one ahead is gone, and the end of its term may follow', aheadGone],
  ['the one ahead is gone, and the watch has shown no term yet', { ...aheadGone, ...unseen }],
  ['the one ahead is gone, the term is its own, and the mark may follow', { ...aheadGone, ...ownTerm }],
];

const waits: readonly (readonly [claim: string, known: Partial<Known>])[] = [
  ['the one ahead leads', {}],
  ['the watch has shown no term yet', unseen],
  ['the term is not watched', unwatched],
  ['the term is of another candidate', otherTerm],
  ['the term is its own, and nothing else is known', ownTerm],
];

it.each(endsNow)('the wait ends now: %s', (_, known) => {
  expect(verdictOn({ ...nothing, ...known })).toBe('endNow');
});

it.each(endsSoon)('the wait ends soon: %s', (_, known) => {
  expect(verdictOn({ ...nothing, ...known })).toBe('endSoon');
});

it.each(waits)('the wait goes on: %s', (_, known) => {
  expect(verdictOn({ ...nothing, ...known })).toBe('wait');
});
