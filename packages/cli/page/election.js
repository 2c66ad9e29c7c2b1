/** An opened election: who leads, the timeline, the queue in order, and the ends of its terms. */

import { age, by, colourOf, duration, element, keep, plural, reasonText, setAttribute, setHidden, setText, timeOf } from './dom.js';
import { leaderText, sinceText } from './list.js';
import { confirmHandover, confirmResign } from './operate.js';
import { drawTimeline } from './timeline.js';

let shown;

/** Makes the panel for another election. */
export function openElection(name) {
  shown = name;
  const panel = by('opened');
  const back = element('a', 'back', 'All elections');
  back.href = '#/';
  const title = element('h2', '', name);
  title.id = 'opened-title';
  title.tabIndex = -1;
  const state = paragraph('opened-state', 'holder');
  const line = element('div', 'timeline large');
  line.id = 'opened-time';
  line.role = 'img';
  const scale = element('p', 'scale');
  scale.id = 'opened-scale';
  scale.ariaHidden = 'true';
  scale.append(element('span'), element('span'), element('span', '', 'now'));
  const queue = element('ol', 'queue');
  queue.id = 'queue';
  const ends = element('ol', 'ends own');
  ends.id = 'own-ends';
  panel.replaceChildren(
    back,
    title,
    state,
    paragraph('opened-facts', 'facts'),
    paragraph('opened-error', 'problem'),
    line,
    scale,
    heading('Queue', 'queue-note'),
    queue,
    paragraph('no-queue', 'empty'),
    heading('Ends of terms', 'ends-note'),
    ends,
    paragraph('no-own-ends', 'empty'),
  );
}

function paragraph(id, className) {
  const made = element('p', className);
  made.id = id;
  return made;
}

function heading(text, id) {
  const made = element('h3', '', `${text} `);
  const note = element('small');
  note.id = id;
  made.append(note);
  return made;
}

/**
 * `context`: `{ row, queue, store, now, scaleMs }`; `row` and `queue` are undefined before they
 * arrive.
 */
export function showElection(name, context) {
  if (name !== shown) openElection(name);
  const { row, queue, store, now, scaleMs } = context;
  const state = by('opened-state');
  state.dataset.state = row?.state ?? 'waiting';
  if (row?.member === undefined) state.style.removeProperty('--of');
  else state.style.setProperty('--of', colourOf(row.member));
  setText(state, row === undefined ? 'There is no such election' : headline(row));
  setText(by('opened-facts'), row === undefined ? 'It appears here when its first candidate has joined.' : facts(row, now));
  const error = row?.error ?? queue?.error;
  setHidden(by('opened-error'), error === undefined);
  setText(by('opened-error'), error === undefined ? '' : `${error.code}: ${error.message}`);
  const view = { now, from: now - scaleMs, startedAt: store?.startedAt ?? now, label: true };
  drawTimeline(by('opened-time'), queue?.spans ?? row?.spans ?? [], view);
  const [from, middle] = by('opened-scale').children;
  setText(from, `${age(scaleMs)} ago`);
  setText(middle, `${age(scaleMs / 2)} ago`);
  showQueue(name, { row, queue, operate: store?.operate === true });
  showEnds(by('own-ends'), queue?.ends ?? [], { withElection: false });
  setText(by('ends-note'), store === undefined ? '' : `seen since ${timeOf(store.startedAt)}`);
  setHidden(by('no-own-ends'), queue === undefined || queue.ends.length > 0);
  setText(by('no-own-ends'), 'No term has ended since this process began to watch.');
}

function headline(row) {
  if (row.state === 'leader') return `${row.member} leads`;
  const text = leaderText(row);
  return text[0].toUpperCase() + text.slice(1);
}

function facts(row, now) {
  const parts = [];
  if (row.term !== undefined) parts.push(row.state === 'vacant' ? `The last term was ${row.term}` : `Term ${row.term}`);
  if (row.since !== undefined) parts.push(`for ${sinceText(row, now)}${row.isOlder ? '' : `, since ${timeOf(row.since)}`}`);
  if (row.state === 'leader' && row.reason !== undefined) parts.push(`the term before ended: ${reasonText(row.reason)}`);
  return parts.join(' · ');
}

function showQueue(name, { row, queue, operate }) {
  const candidates = queue?.candidates ?? [];
  setText(by('queue-note'), queue === undefined ? 'reading…' : noteOf(queue));
  keep(
    by('queue'),
    candidates,
    ({ member, incarnation }) => `${member} ${incarnation}`,
    ({ member }) => makeCandidate(name, member),
    (item, candidate) => showCandidate(item, candidate, { operate, leads: row?.state === 'leader' && !queue.stopping }),
  );
  setHidden(by('no-queue'), queue === undefined || candidates.length > 0 || queue.error !== undefined);
  setText(by('no-queue'), 'Nobody waits to lead.');
}

function noteOf({ total, candidates, stopping, succession }) {
  const order = succession === undefined || succession === 'fifo' ? '' : `, order: ${succession}`;
  const cut = total > candidates.length ? `, the first ${candidates.length} shown` : '';
  return `${plural(total, 'candidate')}${cut}${order}${stopping ? '; the last leader is still stopping' : ''}`;
}

function makeCandidate(name, member) {
  const item = element('li');
  const resign = element('button', 'danger', 'Resign…');
  const take = element('button', '', 'Hand over…');
  resign.type = take.type = 'button';
  resign.dataset.action = 'resign';
  take.dataset.action = 'handover';
  resign.setAttribute('aria-label', `Resign: ${member}`);
  take.setAttribute('aria-label', `Hand over to ${member}`);
  resign.addEventListener('click', () => void confirmResign(name));
  take.addEventListener('click', () => void confirmHandover(name, member));
  const who = element('span', 'who');
  who.append(element('i', 'mark'), element('span', 'member', member));
  item.append(who, element('span', 'badge'), resign, take, element('code', 'value'));
  item.querySelector('.mark').style.setProperty('--of', colourOf(member));
  return item;
}

const STATES = { leads: 'leads', stopping: 'is stopping', waits: 'waits' };

function showCandidate(item, { state, rank, value }, { operate, leads }) {
  const [, badge, resign, take, code] = item.children;
  item.dataset.state = state;
  setText(badge, rank === undefined ? STATES[state] : `${STATES[state]}, rank ${rank}`);
  setHidden(resign, !operate || state !== 'leads');
  setHidden(take, !operate || state !== 'waits' || !leads);
  setHidden(code, value === undefined);
  setText(code, value ?? '');
}

/** A list of ends, the newest first. */
export function showEnds(list, ends, { withElection }) {
  keep(
    list,
    ends,
    ({ id }) => id,
    ({ election }) => makeEnd(withElection ? election : undefined),
    (item, end) => {
      const [time, text] = item.children;
      setText(time, timeOf(end.at));
      setAttribute(time, 'datetime', new Date(end.at).toISOString());
      item.dataset.open = String(end.next === undefined);
      setText(text.querySelector('.what'), `term ${end.term}${end.member === undefined ? '' : ` of ${end.member}`}`);
      setText(text.querySelector('.badge'), reasonText(end.reason));
      setText(text.querySelector('.then'), thenText(end));
    },
  );
}

function makeEnd(election) {
  const item = element('li');
  const text = element('p');
  if (election !== undefined) {
    const link = element('a', 'name', election);
    link.href = `#/election/${election}`;
    text.append(link, ' ');
  }
  text.append(element('span', 'what'), ' ', element('span', 'badge'), ' ', element('span', 'then'));
  item.append(element('time'), text);
  return item;
}

function thenText({ next, vacantForMs }) {
  if (next === undefined) return 'nobody has followed yet';
  const who = `${next.member} leads next, in term ${next.term}`;
  return vacantForMs === undefined ? `${who}; no vacancy seen` : `vacant for ${duration(vacantForMs)}, then ${who.replace(' next', '')}`;
}
