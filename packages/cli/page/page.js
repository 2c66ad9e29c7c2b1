/** The page: takes the documents from the connection, and shows the view that the address names. */

import { ask, Connection, rememberToken } from './connection.js';
import { by, element, plural, setAttribute, setHidden, setText, timeOf } from './dom.js';
import { openElection, showElection, showEnds } from './election.js';
import { ElectionList } from './list.js';
import { healthText, showGroup, showGroups, showHealth } from './views.js';

/** The documents, by their keys, without the rows of the elections. */
const documents = new Map();
const groups = new Map();
let isReady = false;
let offlineSince;
let view = { name: 'elections' };
let isDue = false;
/** Where the list was scrolled to before an election was opened. */
let listScroll = 0;

const connection = new Connection({
  document(key, value) {
    const [kind, ...rest] = key.split('/');
    if (kind === 'election') return list.set(rest.join('/'), value);
    if (kind === 'group') return setOrDelete(groups, rest.join('/'), value);
    setOrDelete(documents, key, value);
  },
  reset() {
    documents.clear();
    groups.clear();
    list.clear();
  },
  ready() {
    isReady = true;
    document.documentElement.dataset.ready = 'true';
    later();
  },
  state: showConnection,
});

const list = new ElectionList({
  now: () => connection.now,
  startedAt: () => documents.get('store')?.startedAt ?? connection.now,
  scaleMs: () => Number(by('scale').value) * 60_000,
  opened: () => (view.name === 'elections' ? view.opened : undefined),
  changed: () => show(),
});

function setOrDelete(map, key, value) {
  if (value === null) map.delete(key);
  else map.set(key, value);
  later();
}

/** Shows before the next frame. */
function later() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    show();
  });
}

function showConnection(state, detail) {
  const isLive = state === 'live';
  by('link').classList.toggle('live', isLive);
  setText(by('link'), isLive ? 'live' : state === 'unauthorized' ? 'token needed' : 'reconnecting');
  offlineSince = isLive ? undefined : (offlineSince ?? connection.now);
  document.body.classList.toggle('offline', state === 'offline');
  setHidden(by('offline'), state !== 'offline');
  if (state === 'offline') {
    const again = element('button', '', 'Try now');
    again.type = 'button';
    again.addEventListener('click', () => connection.retry());
    const text = `No connection to incumbent ui since ${timeOf(offlineSince)}: ${detail}. What you see is from then. `;
    if (by('offline').dataset.text !== text) by('offline').replaceChildren(text, again);
    by('offline').dataset.text = text;
  }
  if (state === 'unauthorized') {
    setText(by('login-wrong'), by('login').open ? 'That is not the token.' : '');
    if (!by('login').open) by('login').showModal();
    by('token').select();
  } else if (isLive && by('login').open) by('login').close();
}

function route() {
  const [, kind = '', name = ''] = /^#\/(\w*)\/?(.*)$/.exec(location.hash) ?? [];
  const before = view;
  if (kind === 'election') view = { name: 'elections', opened: decodeURIComponent(name) };
  else if (kind === 'group') view = { name: 'groups', opened: decodeURIComponent(name) };
  else view = { name: ['ends', 'groups', 'store'].includes(kind) ? kind : 'elections' };
  const isSame = before.name === view.name && before.opened === view.opened;
  if (before.name === 'elections' && before.opened === undefined) listScroll = scrollY;
  const query = view.opened === undefined ? '' : `${view.name === 'groups' ? 'members' : 'queue'}=${encodeURIComponent(view.opened)}`;
  for (const key of documents.keys()) if (/^(?:queue|members)\//.test(key)) documents.delete(key);
  if (view.name === 'elections' && view.opened !== undefined) openElection(view.opened);
  connection.open(query);
  show();
  list.later();
  if (isSame) return;
  const title = view.name === 'groups' ? by('opened-group-title') : by('opened-title');
  if (view.opened !== undefined) {
    title.focus({ preventScroll: true });
    if (!isWide()) scrollTo(0, 0);
  } else if (before.opened !== undefined && before.name === 'elections' && view.name === 'elections') {
    if (!isWide()) scrollTo(0, listScroll);
    requestAnimationFrame(() => list.focusRow(before.opened));
  }
}

function isWide() {
  return matchMedia('(min-width: 1100px)').matches;
}

function show() {
  const store = documents.get('store');
  const health = documents.get('health');
  for (const pane of ['elections', 'ends', 'groups', 'store']) setHidden(by(`view-${pane}`), view.name !== pane);
  for (const link of document.querySelectorAll('.views a'))
    setAttribute(link, 'aria-current', link.dataset.view === view.name ? 'page' : 'false');
  document.body.classList.toggle('has-opened', view.opened !== undefined);
  setText(by('where'), store?.url ?? '');
  setHidden(by('away'), store?.away === undefined);
  if (store?.away !== undefined)
    setText(
      by('away'),
      `The store does not answer since ${timeOf(store.away.since)}: ${store.away.message} (${store.away.code}). Elections show what the store confirmed last.`,
    );
  const counts = list.counts();
  const ends = documents.get('ends') ?? [];
  setText(by('count-elections'), isReady ? counts.all.toLocaleString('en') : '');
  setText(by('count-ends'), isReady ? String(ends.length) : '');
  setText(by('count-groups'), isReady ? String(groups.size) : '');
  setText(by('count-store'), healthText(health, store, list.unreadable().length));
  by('count-store').dataset.health = healthText(health, store, list.unreadable().length).replace(/[\d,]+ /, '');
  setText(by('history'), store === undefined ? '' : historyText(store));
  document.title = `${counts.vacant > 0 ? `${counts.vacant} vacant — ` : ''}${store?.name ?? 'Elections'} — Incumbent`;
  if (view.name === 'elections') showElections(store, counts);
  else if (view.name === 'ends') showAllEnds(ends, store);
  else if (view.name === 'groups') showAllGroups();
  else showHealth(health, store, list.unreadable());
}

function historyText({ startedAt, version, operate }) {
  const mode = operate ? 'Whoever opens this page can end leaderships.' : 'This page only reads.';
  return `A store keeps no history: this page shows what incumbent ui ${version} has seen since it started at ${timeOf(startedAt)}. ${mode}`;
}

function showElections(store, counts) {
  for (const chip of document.querySelectorAll('.chips button'))
    setText(chip.lastElementChild, isReady ? counts[chip.dataset.filter].toLocaleString('en') : '');
  setHidden(by('opened'), view.opened === undefined);
  setHidden(by('list'), list.shown === 0);
  setHidden(by('no-elections'), list.shown > 0);
  setHidden(by('hidden-elections'), (store?.hidden ?? 0) === 0);
  setText(
    by('hidden-elections'),
    `${plural(store?.hidden ?? 0, 'more election')} of this namespace are not shown: the page watches 20,000 at most.`,
  );
  if (list.shown === 0) showEmpty(store);
  setText(by('matches'), list.isFiltered ? plural(list.shown, 'election matches', 'elections match') : '');
  if (view.opened === undefined) return;
  showElection(view.opened, {
    row: list.document(view.opened),
    queue: documents.get(`queue/${view.opened}`),
    store,
    now: connection.now,
    scaleMs: Number(by('scale').value) * 60_000,
  });
}

function showEmpty(store) {
  const node = by('no-elections');
  const why = list.isFiltered ? 'filter' : !isReady || store?.listed !== true ? 'reading' : 'none';
  if (node.dataset.why === why) return;
  node.dataset.why = why;
  if (why === 'filter') {
    const clear = element('button', '', 'Show all');
    clear.type = 'button';
    clear.addEventListener('click', () => {
      by('search').value = '';
      filter('all');
      list.show({ text: '' });
      by('search').focus();
    });
    node.replaceChildren(element('p', '', 'No election matches.'), clear);
  } else if (why === 'reading') node.replaceChildren(element('p', '', 'Reading the elections of the namespace…'));
  else {
    const command = element('code', '', 'incumbent run --election cron -- ./scheduler');
    node.replaceChildren(
      element('p', '', 'There has been no election in this namespace.'),
      element('p', 'note', 'An election appears here a few seconds after its first candidate has joined, for example by:'),
      command,
    );
  }
}

function showAllEnds(ends, store) {
  showEnds(by('ends'), ends, { withElection: true });
  setHidden(by('no-ends'), ends.length > 0 || !isReady);
  if (store !== undefined) setText(by('no-ends'), `No term has ended since ${timeOf(store.startedAt)}, when this process began to watch.`);
}

function showAllGroups() {
  showGroups(groups, view.opened);
  setHidden(by('opened-group'), view.opened === undefined);
  if (view.opened !== undefined) showGroup(view.opened, documents.get(`members/${view.opened}`));
}

function filter(name) {
  for (const chip of document.querySelectorAll('.chips button')) setAttribute(chip, 'aria-pressed', String(chip.dataset.filter === name));
  list.show({ filter: name });
}

by('search').addEventListener('input', ({ target }) => list.show({ text: target.value.trim() }));
by('search').addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') {
    event.preventDefault();
    list.focusRow();
  }
});
by('sort').addEventListener('change', ({ target }) => list.show({ order: target.value }));
by('scale').addEventListener('change', () => list.later());
for (const chip of document.querySelectorAll('.chips button')) chip.addEventListener('click', () => filter(chip.dataset.filter));
by('check').addEventListener('click', () => void ask('POST', '/check').catch((error) => setText(by('checked'), error.message)));
by('login-form').addEventListener('submit', (event) => {
  event.preventDefault();
  rememberToken(by('token').value.trim());
  connection.retry();
});
by('login').addEventListener('cancel', (event) => event.preventDefault());
document.addEventListener('keydown', (event) => {
  const isTyping = /^(?:INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
  if (document.querySelector('dialog[open]') !== null) return;
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (view.name === 'elections' && (view.opened === undefined || isWide())) {
      // At once, so that the next key goes into the field.
      by('search').focus();
    } else {
      location.hash = '#/';
      requestAnimationFrame(() => by('search').focus());
    }
  }
  if (event.key === 'Escape' && !isTyping && view.opened !== undefined) location.hash = view.name === 'groups' ? '#/groups' : '#/';
});
addEventListener('hashchange', route);
setInterval(() => {
  if (document.visibilityState === 'hidden' || documents.size === 0) return;
  list.later();
}, 1_000);
route();
