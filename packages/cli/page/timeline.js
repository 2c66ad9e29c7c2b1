/** Draws a timeline: who led when, and when nobody did. */

import { age, colourOf, element, keep, reasonText, setAttribute, setText } from './dom.js';

/** `view`: `{ from, now, startedAt, label }`, times in ms; a label is drawn where it fits. */
export function drawTimeline(node, spans, { from, now, startedAt, label = false }) {
  const all = now - from;
  const shown = spans.filter(({ to = now }) => to > from);
  const parts = shown.map((span) => ({
    ...span,
    key: `${span.state} ${span.from}`,
    left: (Math.max(span.from, from) - from) / all,
    right: (Math.min(span.to ?? now, now) - from) / all,
  }));
  const unseen = Math.min(Math.max((Math.max(startedAt, from) - from) / all, 0), 1);
  const first = parts[0]?.left ?? 1;
  const before = { state: 'unseen', key: 'unseen', left: 0, right: Math.max(unseen, Math.min(first, 1)) };
  keep(
    node,
    before.right > 0 ? [before, ...parts] : parts,
    ({ key }) => key,
    () => element('span'),
    (part, span) => {
      part.className = `span ${span.state}`;
      part.style.left = `${(span.left * 100).toFixed(2)}%`;
      part.style.width = `${(Math.max(span.right - span.left, 0) * 100).toFixed(2)}%`;
      if (span.state === 'leader') part.style.setProperty('--of', colourOf(span.member));
      setAttribute(part, 'title', titleOf(span, now));
      if (label) setText(part, labelOf(span, (span.right - span.left) * node.clientWidth));
    },
  );
  setAttribute(node, 'aria-label', summaryOf(shown, { from, now }));
}

function titleOf(span, now) {
  const lasted = age((span.to ?? now) - span.from);
  if (span.state === 'leader') return `${span.member} led in term ${span.term}, for ${lasted}`;
  if (span.state === 'vacant') return `nobody led for ${lasted}: ${reasonText(span.reason)}`;
  return span.state === 'unknown' ? `the store did not answer for ${lasted}` : 'before this process began to watch';
}

/** The longest label that fits, at about 7.4 px a character. A cut label would mislead. */
function labelOf({ state, member, term, right, left }, width) {
  const room = Math.floor((width - 14) / 7.4);
  if (right <= left) return '';
  const texts =
    state === 'leader' ? [`${member} · term ${term}`, member, `term ${term}`, ''] : state === 'unseen' ? ['not watched yet', ''] : [''];
  return texts.find((text) => text.length <= room) ?? '';
}

function summaryOf(spans, { from, now }) {
  if (spans.length === 0) return 'nothing seen yet';
  const terms = new Set(spans.flatMap(({ term }) => term ?? [])).size;
  const vacant = spans
    .filter(({ state }) => state === 'vacant')
    .reduce((sum, span) => sum + (span.to ?? now) - Math.max(span.from, from), 0);
  return `last ${age(now - from)}: ${terms} ${terms === 1 ? 'term' : 'terms'}, ${vacant === 0 ? 'no vacancy seen' : `vacant for ${age(vacant)}`}`;
}
