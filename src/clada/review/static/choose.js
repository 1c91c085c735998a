// Choosing: what is ticked, approved, noted and edited. The page itself holds it, and the server keeps a copy.
import {$, all, arrange, el, entryOf, fold, operations, say} from './view.js';

const DELAY = 150; // milliseconds after a choice until it is sent
const version = +document.body.dataset.version;

export async function post(path, value, type = 'application/json') {
  const body = type === 'application/json' ? JSON.stringify(value ?? null) : value;
  return fetch(path, {method: 'POST', headers: {'Content-Type': type}, body});
}

// Ask the server for something; say why if it refuses.
export async function ask(path, value, type) {
  const answer = await post(path, value, type).catch(() => null);
  if (answer?.ok) return answer;
  const why = answer ? await answer.text() : 'clada review has ended: start it again';
  message(why, 'bad');
  say(why);
  return null;
}

export function message(text, colour = '') {
  $('messages').append(el('p', {className: `message ${colour}`, textContent: text}));
}

const takeOf = op => op.querySelector('.take');
const hunksOf = op => all('.take-hunk', op);
const answerOf = op => op.querySelector('.answer:checked')?.value ?? '';
const approved = op => ['once', 'always'].includes(answerOf(op));

// What is chosen, as the server reads it.
export function chosen() {
  const request = {version, chosen: {}, answers: {}, notes: {}, viewed: []};
  for (const op of operations()) {
    const index = op.dataset.index;
    const take = takeOf(op);
    if (take.checked || take.indeterminate) {
      const hunks = hunksOf(op);
      request.chosen[index] = hunks.every(box => box.checked) ? null : hunks.filter(box => box.checked).map(box => +box.dataset.hunk);
    }
    const answer = answerOf(op);
    const network = op.querySelector('.network')?.checked && answer !== 'never' ? '+network' : '';
    if (answer) request.answers[index] = answer + network;
  }
  for (const field of all('textarea.note')) if (field.value.trim()) request.notes[field.dataset.key] = field.value;
  for (const box of all('input.viewed:checked')) request.viewed.push(+box.dataset.index);
  return request;
}

let timer = 0;
let busy = false;
let done = false;

export function setState(state) {
  ({busy = busy, done = done} = state);
  document.body.classList.toggle('applied', done);
  for (const node of all('.choice, .edit, .place, .unplace')) {
    node.disabled = busy || done || node.matches('.take') && 'invalid' in node.closest('.op').dataset;
  }
  for (const id of ['all', 'none', 'next']) $(id).disabled = busy;
  refresh();
}
export const isIdle = () => !busy && !done;

// Show what follows from the choices: numbers, colours, and what can be pressed.
export function refresh() {
  let tried = 0, taken = 0;
  const ops = operations();
  for (const op of ops) {
    const take = takeOf(op);
    const hunks = hunksOf(op);
    const some = hunks.filter(box => box.checked).length;
    if (hunks.length) take.indeterminate = take.checked && some > 0 && some < hunks.length;
    op.classList.toggle('off', !take.checked);
    hunks.forEach(box => box.closest('.hunk').classList.toggle('off', !box.checked || !take.checked));
    taken += take.checked;
    tried += take.checked && !('failing' in op.dataset) && (!('lacking' in op.dataset) || approved(op));
    if ('lacking' in op.dataset && !done && !busy) describe(op);
  }
  $('apply').textContent = taken && !tried ? 'Get the report' : `Apply ${tried} of ${ops.length}`;
  $('apply').disabled = busy || done || !taken;
  $('apply').hidden = done || !ops.length;
}

const ANSWERED = {once: ['good', 'approved once'], always: ['good', 'approved for good'], never: ['bad', 'will be blocked']};
function describe(op) {
  const outcome = op.querySelector('.outcome');
  const [colour, words] = ANSWERED[answerOf(op)] ?? [outcome.dataset.colour, outcome.dataset.planned];
  const network = colour === 'good' && op.querySelector('.network')?.checked ? ', with the network' : '';
  outcome.className = `outcome ${colour}`;
  outcome.textContent = words + network;
}

function changed() {
  refresh();
  clearTimeout(timer);
  timer = setTimeout(save, DELAY);
}

export async function save() {
  clearTimeout(timer);
  if (!isIdle()) return;
  const answer = await post('choose', chosen()).catch(() => null);
  const warnings = answer?.ok ? await answer.json() : [];
  if (!isIdle()) return;
  const more = warnings.length > 3 ? ` and ${warnings.length - 3} more` : '';
  say(warnings.length ? `Careful: ${warnings.slice(0, 3).join('; ')}${more}` : '');
  document.body.dataset.saved = String(+(document.body.dataset.saved ?? 0) + 1);
}

export function pickAll(on) {
  if (!isIdle()) return;
  for (const box of all('.take:not(:disabled), .take-hunk')) box.checked = on;
  if (!on) for (const box of all('.answer[value=""]')) box.checked = true;
  changed();
}

export function toggleTake(op) {
  const box = op && takeOf(op);
  if (!box || box.disabled) return;
  box.checked = !box.checked;
  picked(op);
}

// An operation is taken with all its hunks, if none of them was.
function picked(op) {
  const hunks = hunksOf(op);
  if (takeOf(op).checked && hunks.length && !hunks.some(box => box.checked)) hunks.forEach(box => { box.checked = true; });
  changed();
}

export function openNote(key) {
  const field = all('textarea.note').find(each => each.dataset.key === key);
  if (!field || field.disabled) return;
  fold(field.closest('.card'), false);
  field.parentElement.hidden = false;
  field.focus();
}

// Commands that will run: what they do besides changing files cannot be undone.
export function commandsToRun() {
  return operations().filter(op => 'runs' in op.dataset && takeOf(op).checked && (!('lacking' in op.dataset) || approved(op)));
}
export function commandsNotApproved() {
  return operations().filter(op => 'lacking' in op.dataset && takeOf(op).checked && !answerOf(op)).length;
}

// Editing the new text of a hunk.

let edited = null;
async function openEditor(button) {
  const [index, hunk] = button.dataset.key.split('.').map(Number);
  const answer = await ask('text', {version, index, hunk});
  if (!answer) return;
  const {now, original} = await answer.json();
  edited = {index, hunk, original};
  $('edited').value = now;
  $('editor').showModal();
}

async function keep() {
  const text = $('edited').value;
  const {index, hunk, original} = edited;
  const key = `${index}.${hunk}`;
  const answer = await ask('edit', {version, index, hunk, text: text === original ? null : text});
  if (!answer) return;
  $('editor').close();
  const old = all('.hunk').find(each => each.dataset.key === key);
  const fragment = document.createRange().createContextualFragment(await answer.text());
  const checked = old.querySelector('.take-hunk')?.checked;
  const box = fragment.querySelector('.take-hunk');
  if (box) box.checked = checked;
  old.replaceWith(fragment);
  arrange();
  changed();
  all('.hunk').find(each => each.dataset.key === key).querySelector('.edit').focus();
}

// More of a file.

async function expand(button) {
  const {index, shift, way} = button.dataset;
  const [from, to] = [+button.dataset.from, +button.dataset.to];
  const [first, last] = way === 'up' ? [Math.max(from, to - 19), to] : [from, Math.min(to, from + 19)];
  const answer = await ask('context', {version, index: +index, from: first, to: last, shift: +shift});
  if (!answer) return;
  const fragment = document.createRange().createContextualFragment(await answer.text());
  way === 'up' ? button.after(fragment) : button.before(fragment);
  if (way === 'up') button.dataset.to = first - 1;
  else button.dataset.from = last + 1;
  const left = way === 'up' ? first - from : to - last;
  button.textContent = button.textContent.replace(/\d+ lines?/, `${Math.min(20, left)} line${left === 1 ? '' : 's'}`);
  if (!left) button.remove();
  arrange();
}

async function showAll(button) {
  const answer = await ask('rows', {version, index: +button.dataset.index, hunk: +button.dataset.hunk});
  if (!answer) return;
  all('.rows', button.parentElement).forEach(rows => rows.remove());
  button.replaceWith(document.createRange().createContextualFragment(await answer.text()));
  arrange();
}

async function place(button, lines) {
  await save();
  setState({busy: true});
  if (!await ask('place', {version, index: +button.dataset.index, ...lines})) setState({busy: false});
}

const BUTTONS = {
  'add-note': button => openNote(button.dataset.key), edit: openEditor, expand, more: showAll,
  place: button => place(button, {first: +button.dataset.first, last: +button.dataset.last}),
  unplace: button => place(button, {}),
};
document.addEventListener('click', event => {
  const button = event.target.closest('button');
  const name = button && Object.keys(BUTTONS).find(each => button.classList.contains(each));
  if (name) BUTTONS[name](button);
});
$('operations').addEventListener('change', event => {
  const {target} = event;
  const op = target.closest('.op');
  if (target.matches('.take')) picked(op);
  else if (target.matches('.take-hunk')) {
    takeOf(op).checked = hunksOf(op).some(box => box.checked);
    changed();
  } else if (target.matches('.answer')) {
    if (target.value) takeOf(op).checked = true;
    changed();
  } else if (target.matches('input.viewed')) {
    const card = target.closest('.card');
    fold(card, target.checked);
    entryOf(card).classList.toggle('viewed', target.checked);
    changed();
  } else changed();
});
$('operations').addEventListener('input', event => { if (event.target.matches('textarea.note')) changed(); });
$('keep').addEventListener('click', keep);
$('restore').addEventListener('click', () => { $('edited').value = edited.original; $('edited').focus(); });
// What is chosen right before the page is closed is kept, too.
window.addEventListener('pagehide', () => {
  if (isIdle()) fetch('choose', {method: 'POST', keepalive: true, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(chosen())}).catch(() => {});
});
refresh();
