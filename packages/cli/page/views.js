/** The views beside the elections: groups, and the health of the store. */

import { by, element, keep, plural, setHidden, setText, timeOf } from './dom.js';

const collator = new Intl.Collator('en', { numeric: true });

export function showGroups(groups, opened) {
  const names = [...groups.keys()].toSorted((a, b) => collator.compare(a, b));
  keep(
    by('groups'),
    names,
    (name) => name,
    (name) => {
      const item = element('li');
      const link = element('a', 'name', name);
      link.href = `#/group/${name}`;
      item.append(link, element('span', 'note'));
      return item;
    },
    (item, name) => {
      item.classList.toggle('current', name === opened);
      setText(item.lastElementChild, plural(groups.get(name).members, 'member'));
    },
  );
  setHidden(by('no-groups'), names.length > 0);
  setText(by('no-groups'), 'No member has joined a group in this namespace.');
}

/** `members` is undefined before it has arrived. */
export function showGroup(name, members) {
  const panel = by('opened-group');
  if (panel.dataset.name !== name) {
    panel.dataset.name = name;
    const back = element('a', 'back', 'All groups');
    back.href = '#/groups';
    const title = element('h2', '', name);
    title.id = 'opened-group-title';
    title.tabIndex = -1;
    panel.replaceChildren(back, title, element('p', 'facts'), element('ol', 'queue'));
  }
  const [, , note, list] = panel.children;
  const cut = members !== undefined && members.total > members.members.length ? `, the first ${members.members.length} shown` : '';
  setText(note, members === undefined ? 'reading…' : `${plural(members.total, 'member')}, in the order of joining${cut}`);
  keep(
    list,
    members?.members ?? [],
    ({ member, incarnation }) => `${member} ${incarnation}`,
    ({ member }) => {
      const item = element('li');
      const who = element('span', 'who');
      who.append(element('span', 'member', member));
      item.append(who, element('code', 'value'));
      return item;
    },
    (item, { value }) => {
      setHidden(item.lastElementChild, value === undefined);
      setText(item.lastElementChild, value ?? '');
    },
  );
}

const LEVELS = { ok: 'ok', warning: 'warn', failure: 'fail' };

export function showHealth(health, store, unreadable) {
  const { findings = [], checkedAt, running = true, writes = false } = health ?? {};
  const when = checkedAt === undefined ? 'Checking the store…' : `Checked at ${timeOf(checkedAt)}${running ? '; checking again…' : ''}.`;
  const what = writes
    ? 'The checks also write, below a key of their own that they remove.'
    : 'The checks of this page only read. incumbent doctor also tests permissions and writes.';
  setText(by('checked'), `${when} ${what}`);
  by('check').disabled = running;
  const away =
    store?.away === undefined ? [] : [{ level: 'failure', what: 'reached', detail: `${store.away.code}: ${store.away.message}` }];
  const records = unreadable.map((name) => ({ level: 'failure', what: `election "${name}"`, detail: 'its records cannot be read' }));
  const all = [...away, ...findings, ...records];
  keep(
    by('findings'),
    all.map((finding, index) => ({ ...finding, index })),
    ({ what: name, index }) => `${name} ${index}`,
    () => {
      const item = element('li');
      item.append(element('span', 'level'), element('span', 'what'), element('span', 'detail'));
      return item;
    },
    (item, { level, what: name, detail }) => {
      const [label, title, text] = item.children;
      item.dataset.level = level;
      setText(label, LEVELS[level]);
      setText(title, name);
      setText(text, detail);
    },
  );
}

/** The worst level of the findings, for the tab. */
export function healthText(health, store, unreadable) {
  if (store?.away !== undefined) return 'away';
  const levels = (health?.findings ?? []).map(({ level }) => level);
  const [failures, warnings] = ['failure', 'warning'].map(
    (level) => levels.filter((each) => each === level).length + (level === 'failure' ? unreadable : 0),
  );
  if (failures > 0) return plural(failures, 'failure');
  return warnings > 0 ? plural(warnings, 'warning') : levels.length === 0 ? '' : 'ok';
}
