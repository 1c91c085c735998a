// A page that is served: what its buttons and keys do.
import {$, all, current, onKeys} from './view.js';
import {openNote, pickAll, toggleTake} from './choose.js';
import {apply, copy, listen, quit, send, undo} from './run.js';

function paste(text = '') {
  $('answer').value = text;
  $('paste').showModal();
  $('answer').focus();
}

function take() {
  const text = $('answer').value;
  if (!text.trim()) return;
  $('paste').close();
  window.scrollTo(0, 0);
  send('next', text, 'text/plain;charset=utf-8');
}

function toggleViewed() {
  current()?.closest('.card').querySelector('input.viewed')?.click();
}

const BUTTONS = {
  all: () => pickAll(true), none: () => pickAll(false), next: () => paste(), after: () => paste(), take, apply, copy, undo,
  again: () => send('reload'), quit,
};
for (const [id, action] of Object.entries(BUTTONS)) $(id).addEventListener('click', action);
all('.copy-plan').forEach(button => button.addEventListener('click', copy));
onKeys({
  x: () => toggleTake(current()), n: () => openNote(current()?.dataset.index), v: toggleViewed, e: () => pickAll(true),
  a: apply, u: undo, c: copy, p: () => paste(),
});
document.addEventListener('paste', event => {
  const text = event.clipboardData?.getData('text/plain');
  if (!text || event.target.closest?.('textarea, input')) return;
  event.preventDefault();
  paste(text);
});
listen();
