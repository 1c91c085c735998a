// Looking at a plan: the tree, folding, side by side, keys. Also in a page that is a file, so it imports nothing.
export const $ = id => document.getElementById(id);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
export const operations = () => all('.op');

export function el(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}

export function say(text) {
  $('status').textContent = text;
}

// The first operation or card that is seen. Asking for what is at a point costs the same for any number of cards.
function inView() {
  const x = $('operations').getBoundingClientRect().left + 100;
  for (let y = 120; y < innerHeight; y += 60) {
    const found = document.elementFromPoint(x, y)?.closest('.op, .card');
    if (found) return found;
  }
  return null;
}

// The operation that the keys are about: the one with the focus, or the first that is seen.
export function current() {
  const found = document.activeElement?.closest('.op, .card') ?? inView();
  return found?.matches('.card') ? found.querySelector('.op') : found;
}

export function go(node) {
  if (!node) return;
  const body = node.closest('.card')?.querySelector('.body');
  if (body?.hidden) fold(node.closest('.card'), false);
  node.focus({preventScroll: true});
  node.scrollIntoView({block: 'start'});
}

export function step(by, matching = () => true) {
  const nodes = operations().filter(node => !node.closest('[hidden]') || node.closest('.body[hidden]'));
  const focused = document.activeElement?.closest('.op');
  const at = focused ? nodes.indexOf(focused) : -1;
  const rest = by > 0 ? nodes.slice(at + 1) : nodes.slice(0, Math.max(at, 0)).reverse();
  const next = rest.find(matching);
  if (next) go(next);
  return next;
}

export function fold(card, folded) {
  if (!card) return;
  const [body, button] = [card.querySelector('.body'), card.querySelector('.fold')];
  if (folded && body.contains(document.activeElement)) button.focus();
  body.hidden = folded;
  button.setAttribute('aria-expanded', String(!folded));
}

// The tree.

let filter = '';

export function narrow() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = all('.entry');
  for (const entry of entries) {
    const fits = !filter || (filter === 'lacking' ? 'lacking' in entry.dataset : entry.dataset.kinds.split(' ').includes(filter));
    entry.hidden = !fits || !words.every(word => entry.dataset.text.includes(word));
  }
  for (const folder of all('.folder')) folder.hidden = !folder.querySelector('.entry:not([hidden])');
  $('found').textContent = words.length || filter ? `${entries.filter(entry => !entry.hidden).length} of ${entries.length}` : '';
}

function setFilter(button) {
  filter = button.dataset.filter;
  all('#filters button').forEach(each => each.setAttribute('aria-pressed', String(each === button)));
  narrow();
}

export const entryOf = card => $(card.id.replace('file', 'entry'));

// Mark where the reader is in the tree.
let seen = null;
function follow() {
  const card = inView()?.closest('.card');
  if (!card) return;
  seen?.classList.remove('seen');
  seen = entryOf(card);
  seen.classList.add('seen');
}

// Side by side: pairs of rows, made of the unified ones when they come near.

const wide = matchMedia('(min-width: 701px)');
const unified = new WeakMap();

function pair(table) {
  const body = el('tbody');
  let olds = [], news = [];
  const half = row => row ? [row.cells[row.matches('.added') ? 1 : 0].cloneNode(true), row.cells[2].cloneNode(true)]
    : [el('td', {className: 'no gap'}), el('td', {className: 'code gap'})];
  const flush = () => {
    for (let at = 0; at < Math.max(olds.length, news.length); at++) {
      const cells = [...half(olds[at]).map(cell => tint(cell, olds[at])), ...half(news[at]).map(cell => tint(cell, news[at]))];
      body.append(el('tr', {}, ...cells));
    }
    olds = []; news = [];
  };
  for (const row of table.rows) {
    if (row.matches('.removed')) olds.push(row);
    else if (row.matches('.added')) news.push(row);
    else {
      flush();
      const [old, now, code] = row.cells;
      body.append(el('tr', {}, old.cloneNode(true), code.cloneNode(true), now.cloneNode(true), code.cloneNode(true)));
    }
  }
  flush();
  unified.set(table, table.tBodies[0]);
  table.tBodies[0].replaceWith(body);
  table.classList.add('pairs');
}

function tint(cell, row) {
  if (row) cell.classList.add(...row.classList);
  return cell;
}

const near = new IntersectionObserver(entries => {
  for (const {target, isIntersecting} of entries) if (isIntersecting && !unified.has(target)) pair(target);
}, {rootMargin: '1000px 0px'});

export function arrange() {
  const split = $('split').getAttribute('aria-pressed') === 'true' && wide.matches;
  near.disconnect();
  for (const table of all('table.diff')) {
    if (split) near.observe(table);
    else if (unified.has(table)) {
      table.tBodies[0].replaceWith(unified.get(table));
      unified.delete(table);
      table.classList.remove('pairs');
    }
  }
}

export function toggle(button) {
  const now = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', String(now));
  return now;
}

// Keys, which can be turned off.

const keys = new Map();
export function onKeys(actions) {
  for (const [key, action] of Object.entries(actions)) keys.set(key, action);
}

function remembered(name, otherwise) {
  try { return localStorage.getItem(name) ?? otherwise; } catch { return otherwise; }
}

function remember(name, value) {
  try { localStorage.setItem(name, value); } catch { /* a file may keep nothing */ }
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !$('use-keys').checked) return;
  const typing = event.target.closest?.('dialog[open], textarea, select, input:not([type=checkbox]):not([type=radio])');
  const action = keys.get(event.key);
  if (typing || !action) return;
  event.preventDefault();
  action();
});

onKeys({
  j: () => step(1), k: () => step(-1),
  f: () => step(1, node => node.matches('[data-failing], .failed')) || go(operations().find(node => node.matches('[data-failing], .failed'))),
  o: () => { const card = current()?.closest('.card'); fold(card, !card?.querySelector('.body').hidden); },
  s: () => { if (wide.matches) $('split').click(); }, w: () => $('blanks').click(),
  '/': () => { $('tree').classList.add('open'); $('search').focus(); }, '?': () => $('keys').showModal(),
});

$('split').addEventListener('click', () => { toggle($('split')); arrange(); });
$('blanks').addEventListener('click', () => { document.body.classList.toggle('no-blanks', toggle($('blanks'))); });
$('help').addEventListener('click', () => $('keys').showModal());
$('files').addEventListener('click', () => {
  $('files').setAttribute('aria-expanded', String($('tree').classList.toggle('open')));
});
$('search').addEventListener('input', narrow);
all('#filters button').forEach(button => button.addEventListener('click', () => setFilter(button)));
all('.closes').forEach(button => button.addEventListener('click', () => button.closest('dialog').close()));
$('use-keys').checked = remembered('clada-keys', 'on') === 'on';
$('use-keys').addEventListener('change', () => remember('clada-keys', $('use-keys').checked ? 'on' : 'off'));
document.addEventListener('click', event => {
  const button = event.target.closest('.fold');
  if (button) fold(button.closest('.card'), button.getAttribute('aria-expanded') === 'true');
  const link = event.target.closest('a[href^="#op-"], a[href^="#file-"]');
  if (!link) return;
  event.preventDefault();
  $('tree').classList.remove('open');
  const target = $(link.hash.slice(1));
  go(target.matches('.op') ? target : target.querySelector('.op'));
});
wide.addEventListener('change', arrange);
// Paper has no scrolling: all of it is rendered.
window.addEventListener('beforeprint', () => document.body.classList.add('printing'));
window.addEventListener('afterprint', () => document.body.classList.remove('printing'));
document.addEventListener('scroll', follow, {passive: true});
follow();
