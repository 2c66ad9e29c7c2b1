/**
 * The list of elections. Only the rows in the window, and a few above and below, are in the
 * document: a row is placed by its index, so thousands of elections cost as much as a screenful.
 */

import { age, by, colourOf, element, reasonText, setAttribute, setText } from './dom.js';
import { drawTimeline } from './timeline.js';

const SPARE_ROWS = 6;
const collator = new Intl.Collator('en', { numeric: true });

export class ElectionList {
  #context;
  #rows = by('rows');
  #documents = new Map();
  #nodes = new Map();
  #names = [];
  #shown = [];
  #isUnsorted = false;
  #text = '';
  #filter = 'all';
  #order = 'name';
  #active = '';
  #isDue = false;

  /** `context`: `{ now(), startedAt(), scaleMs(), opened(), changed(list) }`. */
  constructor(context) {
    this.#context = context;
    addEventListener('scroll', () => this.#draw(), { passive: true });
    addEventListener('resize', () => this.#draw());
    by('rows').addEventListener('keydown', (event) => this.#key(event));
    by('rows').addEventListener('focusin', ({ target }) => {
      this.#active = target.closest('.row')?.dataset.key ?? this.#active;
      this.#tabStops();
    });
  }

  get size() {
    return this.#documents.size;
  }

  get shown() {
    return this.#shown.length;
  }

  get isFiltered() {
    return this.#text !== '' || this.#filter !== 'all';
  }

  document(name) {
    return this.#documents.get(name);
  }

  set(name, row) {
    if (row === null) this.#documents.delete(name);
    else this.#documents.set(name, row);
    if (row === null || this.#documents.size !== this.#names.length) this.#isUnsorted = true;
    this.later();
  }

  clear() {
    this.#documents.clear();
    this.#isUnsorted = true;
    this.later();
  }

  show({ text = this.#text, filter = this.#filter, order = this.#order }) {
    [this.#text, this.#filter, this.#order] = [text, filter, order];
    this.later();
  }

  /** How many elections are in each state. */
  counts() {
    const counts = { all: this.#documents.size, leader: 0, vacant: 0, unknown: 0 };
    for (const row of this.#documents.values()) counts[groupOf(row)] += 1;
    return counts;
  }

  /** The names of the elections whose records cannot be read. */
  unreadable() {
    return this.#names.filter((name) => this.#documents.get(name)?.state === 'unreadable');
  }

  focusRow(name = this.#shown[0]) {
    const index = this.#shown.indexOf(name);
    if (index === -1) return;
    this.#active = name;
    this.#reveal(index);
    this.#draw();
    this.#nodes.get(name)?.querySelector('a').focus({ preventScroll: true });
  }

  /** Draws before the next frame. */
  later() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#arrange();
      // Shows the list if it was empty before: a hidden list has no place to draw at.
      this.#context.changed(this);
      this.#draw();
    });
  }

  #arrange() {
    if (this.#isUnsorted) this.#names = [...this.#documents.keys()].toSorted((a, b) => collator.compare(a, b));
    this.#isUnsorted = false;
    const wanted = this.#text.toLowerCase();
    this.#shown = this.#names.filter((name) => {
      const row = this.#documents.get(name);
      const fits = wanted === '' || name.toLowerCase().includes(wanted) || (row.member ?? '').toLowerCase().includes(wanted);
      return fits && (this.#filter === 'all' || groupOf(row) === this.#filter);
    });
    if (this.#order === 'change')
      this.#shown = this.#shown.toSorted((a, b) => changeOf(this.#documents.get(b)) - changeOf(this.#documents.get(a)));
    this.#rows.style.setProperty('--rows', this.#shown.length);
    setAttribute(by('list'), 'aria-rowcount', String(this.#shown.length + 1));
  }

  #rowHeight() {
    return Number.parseFloat(getComputedStyle(this.#rows).getPropertyValue('--row'));
  }

  #draw() {
    if (this.#rows.offsetParent === null) return;
    const height = this.#rowHeight();
    const top = -this.#rows.getBoundingClientRect().top;
    const first = Math.max(Math.floor(top / height) - SPARE_ROWS, 0);
    const last = Math.min(Math.ceil((top + innerHeight) / height) + SPARE_ROWS, this.#shown.length);
    const names = this.#shown.slice(first, Math.max(last, first));
    const present = new Set(names);
    // The row with the focus stays, so that the keyboard does not lose its place.
    for (const [name, node] of this.#nodes) {
      if (present.has(name) || (node.contains(document.activeElement) && this.#shown.includes(name))) continue;
      node.remove();
      this.#nodes.delete(name);
    }
    const { opened, now, startedAt, scaleMs } = this.#context;
    const view = { now: now(), startedAt: startedAt(), from: now() - scaleMs() };
    let before = null;
    for (const [offset, name] of names.entries()) {
      const node = this.#nodes.get(name) ?? this.#make(name);
      // In the order of the list also for the screen reader. A row in its place is not touched.
      const place = before === null ? this.#rows.firstElementChild : before.nextElementSibling;
      if (place !== node && !node.contains(document.activeElement)) this.#rows.insertBefore(node, place);
      before = node;
      node.style.transform = `translateY(${(first + offset) * height}px)`;
      setAttribute(node, 'aria-rowindex', String(first + offset + 2));
      node.classList.toggle('current', name === opened());
      fill(node, this.#documents.get(name), view);
    }
    this.#tabStops();
  }

  #make(name) {
    const node = element('div', 'row');
    node.role = 'row';
    node.dataset.key = name;
    const cell = (className) => {
      const made = element('span', className);
      made.role = 'cell';
      return made;
    };
    const [title, leader, term, since, time] = ['c-name', 'c-leader', 'c-term', 'c-since', 'c-time'].map(cell);
    const link = element('a', '', name);
    link.href = `#/election/${name}`;
    link.title = name;
    title.append(link);
    leader.append(element('i', 'mark'), element('span', 'text'));
    const line = element('span', 'timeline');
    line.role = 'img';
    time.append(line);
    node.append(title, leader, term, since, time);
    this.#nodes.set(name, node);
    return node;
  }

  /** Tab reaches one row; the arrow keys reach the others. */
  #tabStops() {
    const active = this.#nodes.has(this.#active) && this.#shown.includes(this.#active) ? this.#active : this.#firstVisible();
    for (const [name, node] of this.#nodes) node.firstElementChild.firstElementChild.tabIndex = name === active ? 0 : -1;
  }

  #firstVisible() {
    return this.#shown.find((name) => this.#nodes.has(name));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(Math.floor(innerHeight / this.#rowHeight()) - 3, 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const index = Math.min(Math.max(this.#shown.indexOf(this.#active) + move, 0), this.#shown.length - 1);
    this.focusRow(this.#shown[index]);
  }

  /** Scrolls so that the row is between the heading of the list and the end of the window. */
  #reveal(index) {
    const height = this.#rowHeight();
    const top = this.#rows.getBoundingClientRect().top + index * height;
    const head = document.querySelector('.list-head').offsetHeight;
    if (top < head) scrollBy({ top: top - head - 4, behavior: 'instant' });
    else if (top + height > innerHeight) scrollBy({ top: top + height - innerHeight + 4, behavior: 'instant' });
  }
}

function groupOf({ state }) {
  return state === 'leader' || state === 'vacant' ? state : 'unknown';
}

function changeOf({ since = 0, isOlder = false }) {
  return isOlder ? 0 : since;
}

function fill(node, row, view) {
  const [, leader, term, since, time] = node.children;
  if (node.dataset.state !== row.state) node.dataset.state = row.state;
  const [mark, text] = leader.children;
  const words = leaderText(row);
  setText(text, words);
  setAttribute(text, 'title', words);
  if (row.member !== undefined) mark.style.setProperty('--of', colourOf(row.member));
  setText(term, row.term ?? '–');
  setText(since, sinceText(row, view.now));
  setAttribute(since, 'title', row.isOlder === true ? 'It was so when this process began to watch' : '');
  if (time.offsetParent !== null) drawTimeline(time.firstElementChild, row.spans, view);
}

/** Who leads, or why nobody does. */
export function leaderText({ state, member, reason, error }) {
  switch (state) {
    case 'leader':
      return member;
    case 'vacant':
      return `vacant: ${reasonText(reason)}`;
    case 'unknown':
      return member === undefined ? 'unknown' : `unknown, last ${member}`;
    case 'unreadable':
      return `cannot be read: ${error.code}`;
    default:
      return 'reading…';
  }
}

/** How long the state lasts, by the clock of the server. */
export function sinceText({ since, isOlder }, now) {
  if (since === undefined) return '–';
  return isOlder ? `over ${age(now - since)}` : age(now - since);
}
