/** What the scripts of the page share: elements, colours and texts. */

export const by = (id) => document.getElementById(id);

/** Brokers keep their colours: seven, and a grey for those beyond. */
export function colourOf(broker) {
  const number = Number(broker.split('-').at(-1));
  return number >= 1 && number <= 7 ? `var(--b${number})` : 'var(--b0)';
}

export function seconds(ms) {
  return ms < 1_000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className !== '') node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Only what changes is touched: focus and selections stay. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** As `setText`, but no line breaks within the name of a broker or a partition. */
export function setNames(node, text) {
  if (node.textContent === text) return;
  const parts = text.split(/(\b[\w.]+-\d+\b)/);
  node.replaceChildren(...parts.map((part, index) => (index % 2 === 1 ? element('span', 'unbroken', part) : part)));
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/** One child for each item, made once, in the items' order. */
export function keep(parent, items, keyOf, make, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
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
