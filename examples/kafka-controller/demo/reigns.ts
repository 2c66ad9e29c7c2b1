/** Who was the controller when, and when nobody was, for the page's bar of terms. */

import type { ReignView } from '../commands.ts';
import { heardOf } from './cluster.ts';
import type { Facts } from './gaps.ts';
import type { Heard } from './history.ts';

/**
 * Returns a reign for each moment at which a broker became the controller, and one without a broker
 * for each moment at which nobody was the controller any more, in order. Unlike brokers, the parent
 * process knows when another broker was killed or paused: from then on nobody acts as the
 * controller, although the lease lasts longer.
 */
export function reigns(facts: Facts): readonly ReignView[] {
  const elected = heardOf(facts.heard, 'elected').toSorted((a, b) => Number(a.event.term - b.event.term));
  return elected.flatMap((one, index) => ofTerm(facts, one, elected[index + 1]?.event.at ?? Infinity));
}

function ofTerm(facts: Facts, elected: Heard<'elected'>, next: number): readonly ReignView[] {
  const { broker } = elected;
  const { term, at: from } = elected.event;
  const end = endOf(facts, elected);
  const until = Math.min(end.at, next);
  const found: ReignView[] = [{ at: from, term, broker, reason: undefined }];
  for (const pause of facts.pauses) {
    if (pause.broker !== broker || pause.from < from || pause.from >= until) continue;
    found.push({ at: pause.from, term, broker: null, reason: 'paused' });
    if (pause.to >= until) return found;
    found.push({ at: pause.to, term, broker, reason: undefined });
  }
  if (end.at < next) found.push({ at: end.at, term, broker: null, reason: end.reason });
  return found;
}

/** When the broker knew that the term had ended, or when its process ended, whichever was first. */
function endOf({ heard, lives }: Facts, { broker, event }: Heard<'elected'>): { readonly at: number; readonly reason: string } {
  const ended = heardOf(heard, 'ended').find((one) => one.broker === broker && one.event.term === event.term)?.event;
  const life = lives.find((one) => one.broker === broker && (one.end?.at ?? Infinity) >= event.at);
  const died = life?.end?.at ?? Infinity;
  if (ended !== undefined && ended.at <= died) return { at: ended.at, reason: ended.reason };
  return { at: died, reason: 'killed' };
}
