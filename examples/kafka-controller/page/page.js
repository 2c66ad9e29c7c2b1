/** The page: it hears every broker's events, and shows what they say, the newest of it. */

import { by, colourOf, element, keep, seconds, setHidden, setNames, setText } from './dom.js';
import { reasons, showTime } from './terms.js';

const SILENT_AFTER_MS = 3_000;
const REFUSALS = 10;
/** How long a card shows what was refused of its broker. */
const ON_CARD_MS = 60_000;

/** By address: the stream, what it said last, and when. */
const streams = new Map();

listenTo(location.origin);
setInterval(show, 200);

function listenTo(url) {
  if (streams.has(url)) return;
  const stream = { source: new EventSource(`${url}/events`), state: undefined, heardAt: 0 };
  stream.source.addEventListener('message', ({ data }) => {
    stream.state = JSON.parse(data);
    stream.heardAt = performance.now();
  });
  // One that was refused for good does not try again by itself.
  stream.source.addEventListener('error', () => {
    if (stream.source.readyState === EventSource.CLOSED) setTimeout(() => again(url), 1_000);
  });
  streams.set(url, stream);
}

function again(url) {
  streams.delete(url);
  listenTo(url);
}

function show() {
  const heard = [...streams.values()].filter(({ state }) => state !== undefined).toSorted((a, b) => b.heardAt - a.heardAt);
  const fresh = heard.filter(({ heardAt }) => performance.now() - heardAt < SILENT_AFTER_MS).map(({ state }) => state);
  const states = heard.map(({ state }) => state);
  const cluster = fresh.find((state) => state.cluster !== null)?.cluster;
  const known = cluster?.processes ?? states.map(({ id, url }) => ({ broker: id, url, state: 'running' }));
  for (const { url } of known) if (url !== '') listenTo(url);

  const reigns = mergedReigns(states);
  const partitions = newestPartitions(states);
  showLink(fresh.length);
  const reign = reigns.at(-1);
  const queue = (fresh[0]?.queue ?? []).filter((broker) => broker !== reign?.broker); // it is asked for less often
  showOffice(reign, queue, known);
  showTime(cluster?.reigns.map((one) => ({ ...one, key: `${one.term} ${one.broker ?? ''} ${one.at}` })) ?? reigns);
  showBrokers(known, { states, queue, reign, partitions, supervised: cluster !== undefined });
  showPartitions(partitions, fresh, known);
  showRefusals(states, cluster?.refused);
  showLoad(cluster?.load);
}

/** What brokers have seen of terms, each thing at the moment at which the first of them saw it. */
function mergedReigns(states) {
  const merged = new Map();
  for (const { reigns } of states) {
    for (const reign of reigns) {
      if (reign.term === undefined) continue;
      const key = `${reign.term} ${reign.broker ?? ''}`;
      const before = merged.get(key);
      if (before === undefined || reign.at < before.at) merged.set(key, { ...reign, key });
    }
  }
  return [...merged.values()].toSorted((a, b) => Number(a.term) - Number(b.term) || Number(a.broker === null) - Number(b.broker === null));
}

function newestPartitions(states) {
  const newest = new Map();
  for (const { partitions } of states) {
    for (const [name, partition] of Object.entries(partitions)) {
      if ((newest.get(name)?.version ?? 0) < partition.version) newest.set(name, partition);
    }
  }
  return new Map([...newest].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
}

function showLink(count) {
  by('link').classList.toggle('live', count > 0);
  setText(by('link'), count === 0 ? 'no broker answers' : `live from ${count} broker${count === 1 ? '' : 's'}`);
}

function showOffice(reign, queue, known) {
  const office = document.querySelector('.office');
  const holder = by('holder');
  const next = queue.length === 0 ? 'Nobody waits in line.' : `In line: ${queue.join(', ')}.`;
  if (reign === undefined || reign.broker === null) {
    office.style.removeProperty('--of');
    setText(holder, 'Vacant');
    const since = reign === undefined ? '' : ` for ${seconds(Date.now() - reign.at)}, ${reasons[reign.reason] ?? reign.reason ?? ''}`;
    return setNames(by('line'), `Nobody is the controller${since}. ${next}`);
  }
  office.style.setProperty('--of', colourOf(reign.broker));
  if (holder.dataset.shown !== reign.key) {
    holder.dataset.shown = reign.key;
    holder.replaceChildren(element('span', 'unbroken', reign.broker), element('span', 'term', ` term ${reign.term}`));
  }
  const process = known.find(({ broker }) => broker === reign.broker)?.state;
  setNames(by('line'), process === 'paused' ? `It is paused: its lease runs out. ${next}` : next);
}

function showBrokers(known, context) {
  const sorted = known.toSorted((a, b) => a.broker.localeCompare(b.broker, 'en', { numeric: true }));
  keep(
    by('brokers'),
    sorted,
    ({ broker }) => broker,
    ({ broker }) => makeBroker(broker),
    (card, process) => showBroker(card, process, context),
  );
  for (const id of ['load', 'add']) by(id).hidden = !context.supervised;
}

function makeBroker(broker) {
  const card = element('li', 'broker');
  card.style.setProperty('--of', colourOf(broker));
  const actions = element('div', 'actions');
  const buttons = [
    ['handOver', 'Make controller'],
    ['stopBeforeWrite', 'Pause mid-write'],
    ['pause', 'Pause'],
    ['resume', 'Resume'],
    ['cutOff', 'Cut off'],
    ['heal', 'Reconnect'],
    ['kill', 'Kill'],
    ['start', 'Start again'],
  ];
  for (const [action, label] of buttons) actions.append(makeButton(action, label, broker));
  card.append(element('p', 'name', broker), element('p', 'role'), element('p', 'keeps'), element('p', 'stopped'), actions);
  return card;
}

function makeButton(action, label, broker) {
  const button = element('button', action === 'kill' ? 'danger' : '', label);
  button.type = 'button';
  button.dataset.action = action;
  button.setAttribute('aria-label', `${label}: ${broker}`);
  button.addEventListener('click', () => void ask(action, broker));
  return button;
}

function showBroker(card, { broker, state }, { states, queue, reign, partitions, supervised }) {
  const own = states.find(({ id }) => id === broker);
  const isController = reign?.broker === broker && state === 'running';
  const isCut = state === 'running' && own?.cutOff === true;
  card.className = ['broker', state, isController && 'controller', isCut && 'cut'].filter(Boolean).join(' ');
  setText(card.querySelector('.role'), roleOf({ broker, state, isController, isCut, reign, queue }));
  const kept = [...partitions.values()].filter(({ replicas }) => replicas.includes(broker));
  const led = kept.filter(({ leader }) => leader === broker).length;
  const behind = kept.filter(({ isr }) => !isr.includes(broker)).length;
  setText(card.querySelector('.keeps'), `leads ${led} of ${kept.length} partitions${behind === 0 ? '' : `, behind in ${behind}`}`);
  setNames(card.querySelector('.stopped'), lastRefusalOf(broker, states));
  const can = {
    handOver: state === 'running' && !isController && !isCut,
    stopBeforeWrite: isController && !isCut,
    pause: state === 'running',
    resume: state === 'paused',
    cutOff: state === 'running' && !isCut,
    heal: isCut,
    kill: state !== 'ended',
    start: state === 'ended',
  };
  const focused = card.contains(document.activeElement) ? document.activeElement.dataset.action : undefined;
  const buttons = [...card.querySelectorAll('button')];
  for (const button of buttons) setHidden(button, !supervised || !can[button.dataset.action]);
  if (focused !== undefined && !can[focused]) takeFocus(buttons, counterparts[focused]);
}

/** What undoes what a button does. */
const counterparts = {
  pause: 'resume',
  stopBeforeWrite: 'resume',
  resume: 'pause',
  cutOff: 'heal',
  heal: 'cutOff',
  kill: 'start',
  start: 'kill',
};

/** Whoever pressed a button that goes is taken to the one that undoes it, or beside it. */
function takeFocus(buttons, action) {
  const visible = buttons.filter(({ hidden }) => !hidden);
  (visible.find(({ dataset }) => dataset.action === action) ?? visible[0])?.focus();
}

/** What was refused of this broker lately: by the store if it was, otherwise by another broker. */
function lastRefusalOf(broker, states) {
  const recent = refusalsIn(states)
    .map(([, refusal]) => refusal)
    .filter(({ from, at }) => from === broker && Date.now() - at < ON_CARD_MS);
  const shown = ['store', 'broker', 'replica'].map((refuser) => recent.find((one) => one.by === refuser)).find((one) => one !== undefined);
  return shown === undefined ? '' : describeRefusal(shown);
}

function roleOf({ broker, state, isController, isCut, reign, queue }) {
  if (state === 'ended') return 'gone';
  if (state === 'paused') return reign?.broker === broker ? 'paused, as the controller' : 'paused';
  if (isCut) return isController ? 'cut off, as the controller' : 'cut off';
  if (isController) return `controller, term ${reign.term}`;
  const place = queue.indexOf(broker);
  return place === -1 ? 'joining' : `${place + 1}${['st', 'nd', 'rd'][place] ?? 'th'} in line`;
}

function showPartitions(partitions, fresh, known) {
  const rows = [...partitions].map(([name, partition]) => ({ name, ...partition }));
  const isThere = (broker) => known.some((process) => process.broker === broker && process.state === 'running');
  const led = rows.filter(({ leader }) => leader !== null && isThere(leader)).length;
  setText(by('led'), rows.length === 0 ? '–' : `${led} of ${rows.length}`);
  const behind = rows.filter(({ isr, replicas }) => isr.length < replicas.length).length;
  setText(by('in-sync'), behind === 0 ? 'all in sync' : `${behind} not all in sync`);
  keep(
    by('partitions'),
    rows,
    ({ name }) => name,
    makeRow,
    (row, { name, leader, leaderEpoch, replicas, isr, target }) => {
      const replica = fresh.find(({ id }) => id === leader)?.replicas.find((one) => one.name === name);
      row.classList.toggle('leaderless', leader === null || !isThere(leader));
      keep(
        row.querySelector('.chips'),
        replicas,
        (id) => id,
        (id) => makeChip(id),
        (chip, id) => {
          const role = roleIn({ id, leader, isr, target });
          chip.className = `chip ${role.style}`;
          chip.title = `${id} ${role.text}`;
          chip.setAttribute('aria-label', chip.title);
        },
      );
      const [epoch, messages] = row.querySelectorAll('.number');
      setText(epoch, String(leaderEpoch));
      if (replica !== undefined) setText(messages, replica.committed.toLocaleString('en'));
    },
  );
}

function roleIn({ id, leader, isr, target }) {
  if (id === leader) return { style: 'leads', text: 'leads' };
  if (target !== null && target.includes(id) && !isr.includes(id)) return { style: 'new', text: 'moves in' };
  return isr.includes(id) ? { style: '', text: 'is in sync' } : { style: 'out', text: 'is behind' };
}

function makeRow({ name }) {
  const row = element('tr', '');
  const chips = element('td', '');
  chips.append(element('div', 'chips'));
  row.append(element('td', '', name), chips, element('td', 'number'), element('td', 'number'));
  return row;
}

function makeChip(id) {
  const chip = element('span', 'chip', id.split('-').at(-1));
  chip.setAttribute('role', 'img');
  chip.style.setProperty('--of', colourOf(id));
  return chip;
}

/** What brokers and the store have refused, each with its key, the newest first. */
function refusalsIn(states) {
  const all = new Map();
  for (const { id, refusals } of states) for (const refusal of refusals) all.set(`${id} ${refusal.at} ${refusal.what}`, { id, ...refusal });
  return [...all].toSorted(([, a], [, b]) => b.at - a.at);
}

/** Counts as the terminal does if the brokers have a parent process. A killed broker's counts are lost with it. */
function showRefusals(states, counted) {
  const newest = refusalsIn(states);
  const count = (refuser) => counted?.[refuser] ?? states.reduce((sum, { refused }) => sum + refused[refuser], 0);
  const [store, broker, replica] = ['store', 'broker', 'replica'].map(count);
  setText(by('refused-count'), String(store + broker + replica));
  setText(by('refused-by'), store + broker + replica === 0 ? 'none yet' : `by store ${store}, brokers ${broker}, replicas ${replica}`);
  setHidden(by('no-refusals'), newest.length > 0);
  keep(
    by('refused'),
    newest.slice(0, REFUSALS),
    ([key]) => key,
    makeRefusal,
    () => {},
  );
}

function makeRefusal([, refusal]) {
  const item = element('li', '');
  item.style.setProperty('--of', colourOf(refusal.from));
  const text = element('span', '');
  setNames(text, describeRefusal(refusal));
  item.append(element('time', '', new Date(refusal.at).toLocaleTimeString('en', { hour12: false })), text);
  return item;
}

function describeRefusal({ id, by: refuser, what, from, stale, seen }) {
  const texts = {
    store: `The store refused a ${what} of ${from} in term ${stale}: a newer term has begun.`,
    broker: `${id} refused a ${what} of ${from} in term ${stale}: it has seen term ${seen}.`,
    replica: `${id} refused to ${what} for ${from} in epoch ${stale}: it has seen epoch ${seen}.`,
  };
  return texts[refuser];
}

const rates = [];

function showLoad(load) {
  if (load === undefined) return;
  const now = performance.now();
  rates.push({ now, acknowledged: load.acknowledged });
  while (rates.length > 2 && now - rates[0].now > 3_000) rates.shift();
  const [first] = rates;
  const perSecond = now === first.now ? 0 : ((load.acknowledged - first.acknowledged) / (now - first.now)) * 1_000;
  setText(by('acknowledged'), load.acknowledged.toLocaleString('en'));
  setText(by('rate'), load.on ? `${Math.max(0, Math.round(perSecond))} a second` : 'no load');
  by('load').setAttribute('aria-pressed', String(load.on));
  setText(by('load'), load.on ? 'Stop sending' : 'Send messages');
}

by('add').addEventListener('click', () => void ask('add', ''));
by('load').addEventListener('click', () => void ask('load', ''));

/** Of any broker that answers: the one that this page came from may be gone. */
async function ask(action, broker) {
  const fresh = [...streams].toSorted(([, a], [, b]) => b.heardAt - a.heardAt).map(([url]) => url);
  for (const url of fresh) {
    const answer = await fetch(`${url}/do`, {
      method: 'POST',
      body: JSON.stringify({ action, broker }),
      signal: AbortSignal.timeout(1_000),
    }).catch(() => undefined);
    if (answer?.ok === true) return;
  }
}
