/** The bar of terms, with the times without a controller. */

import { by, colourOf, element, keep, seconds, setText } from './dom.js';

const WINDOW_MS = 60_000;
/** The labels of terms and vacancies, in CSS pixels, as the style sheet has them. */
const LABEL_SIZE = 13;
const SPAN_PADDING = 18;
const LABEL_GAP = 8;

export const reasons = {
  killed: 'it was killed',
  paused: 'it is paused',
  expired: 'its lease has run out',
  resigned: 'it resigned',
  handover: 'it is handing over',
  memberClosed: 'it was closed',
};

export function showTime(reigns) {
  const now = Date.now();
  const from = now - WINDOW_MS;
  const spans = reigns.map((reign, index) => ({ ...reign, to: reigns[index + 1]?.at ?? now })).filter(({ to }) => to > from);
  const percent = (at) => (Math.max(0, at - from) / WINDOW_MS) * 100;
  keep(
    by('time'),
    spans,
    ({ key }) => key,
    () => element('div', ''),
    (node, { at, to, term, broker, reason }) => {
      const width = percent(to) - percent(at);
      node.style.left = `${percent(at)}%`;
      node.style.width = `${width}%`;
      node.classList.toggle('vacant', broker === null);
      if (broker !== null) node.style.setProperty('--of', colourOf(broker));
      node.title = describeSpan({ at, to, term, broker, reason });
      const labels = broker === null ? [] : [`${term} · ${broker}`, String(term)];
      setText(node, labels.find((label) => widthOf(label) + SPAN_PADDING <= (width / 100) * by('time').clientWidth) ?? '');
    },
  );
  by('time').setAttribute('aria-label', `In the last minute: ${spans.map(describeSpan).join('; ')}`);
  showVacancies(
    spans.filter(({ broker }) => broker === null),
    percent,
  );
}

function describeSpan({ at, to, term, broker, reason }) {
  if (broker !== null) return `${broker} in term ${term}, ${seconds(to - at)}`;
  return `vacant for ${seconds(to - at)}, ${reasons[reason] ?? reason ?? 'for a reason that no broker has seen'}`;
}

/** Labels each vacancy with its length. Leaves out a label that would cover the one before. */
function showVacancies(vacancies, percent) {
  const lane = by('vacancies');
  let end = 0;
  const labelled = [];
  for (const { key, at, to } of vacancies) {
    const text = seconds(to - at);
    const width = widthOf(text);
    const middle = ((percent(at) + percent(to)) / 200) * lane.clientWidth;
    const left = Math.min(Math.max(0, middle - width / 2), lane.clientWidth - width);
    if (left < end) continue;
    end = left + width + LABEL_GAP;
    labelled.push({ key, text, left });
  }
  keep(
    lane,
    labelled,
    ({ key }) => key,
    () => element('span', ''),
    (node, { text, left }) => {
      node.style.left = `${left}px`;
      setText(node, text);
    },
  );
}

const pen = document.createElement('canvas').getContext('2d');
pen.font = `${LABEL_SIZE}px ${getComputedStyle(document.body).fontFamily}`;

/** The width of a label, in CSS pixels. */
function widthOf(text) {
  return pen.measureText(text).width;
}
