/** What observers show. */

import type { ElectionObserver, ElectionView } from '../../src/index.ts';

/** The leader's record as a member writes it. */
export function leaderRecord(term: number, memberId = 'm', value?: unknown): object {
  return { v: 1, term: String(term), memberId, incarnation: 'i', entry: `e${term}`, value };
}

/** Remembers what an observer shows, in short. */
export function shown(observer: ElectionObserver): string[] {
  const views: string[] = [];
  observer.subscribe((view) => views.push(inShort(view)));
  return views;
}

/** A view in a few words. */
export function inShort(view: ElectionView): string {
  if (view.state === 'leader') return [`${view.memberId} ${view.term}`, view.reason].filter(Boolean).join(' ');
  return view.state === 'vacant' ? `vacant ${view.term ?? ''} ${view.reason}` : 'unknown';
}

/** Reads the views until they end. */
export async function drain(observer: ElectionObserver): Promise<void> {
  for await (const view of observer.views()) void view;
}
