/** What the scripts of the page share: elements, texts, times and colours. */

export const by = (id) => document.getElementById(id);

export function element(tag, className = '', text) {
  const node = document.createElement(tag);
  if (className !== '') node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Only what changes is touched, so that focus and selections stay. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** One child for each item, made once, in the order of the items. */
export function keep(parent, items, keyOf, make, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = before.get(key);
    before.delete(key);
    if (child === undefined) {
      child = make(item);
      child.dataset.key = key;
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const child of before.values()) child.remove();
}

/** Two units at most: `340 ms`, `12 s`, `5 min`, `3 h 20 min`, `2 d 4 h`. */
export function duration(ms) {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How long a state lasts, without fractions, which would change several times a second. */
export function age(ms) {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : duration(ms);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** The time of day, with the day if that is not today. */
export function timeOf(ms) {
  const date = new Date(ms);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

/** A member keeps its colour: one of eight, by its id. */
export function colourOf(member) {
  let hash = 0;
  for (const character of member) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return `var(--m${hash % 8})`;
}

const REASONS = {
  resigned: 'resigned',
  handover: 'handed over',
  handoverFailed: 'handover failed',
  steppedDown: 'stepped down',
  expired: 'lease expired',
  memberClosed: 'member closed',
  recordDeleted: 'record deleted',
  recordReplaced: 'record replaced',
  entryDeleted: 'entry deleted',
  termBehind: 'term behind a fence',
  neverLed: 'nobody has led yet',
  termReset: 'the store has lost terms',
  unknown: 'reason unknown',
};

/** A reason in words. A later version may have reasons that this page does not know. */
export function reasonText(reason) {
  return REASONS[reason] ?? reason;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
