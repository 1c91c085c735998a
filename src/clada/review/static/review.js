// The page of a review. All that comes from an answer, a file or a command is put in as text, never as markup.
'use strict';
(() => {
const CHUNK = 10;        // operations that are rendered together, when they come near
const NEAR = 1500;       // pixels around what is seen
const FIRST_ROWS = 400;  // lines of a diff that are shown before somebody asks for more
const MORE_ROWS = 2000;
const ROW = 20;          // pixels
const MOST_OUTPUT = 2000; // lines of a command's output that are kept here
const MOST_CHANGES = 20; // paths that a command would change which are named
const LONGEST = 4000;    // characters of a line that are coloured

const TITLE = document.title;
const $ = id => document.getElementById(id);
let data = JSON.parse($('data').textContent);
let picks, answers, networks, folded, results, outputs, current;
let chunks = [];
const wide = matchMedia('(min-width: 701px)');  // there is room for two columns
let split = false;
let busy = false;
let done = false;
let report = null;
let stream = null;

// Building.

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === 'on') for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name in node && name !== 'role') node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// What cannot be seen, or turns the direction of what can, is shown by its number.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;
const ODD = new RegExp(`${UNSEEN.source}|[^\\x00-\\x7f]+`, 'gu');

function name(char) {
  return 'U+' + char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
}

function put(node, text, pattern = UNSEEN) {
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    const char = found[0];
    if (char === '\n' || char === '\t') continue;
    node.append(text.slice(at, found.index));
    const unseen = char.match(UNSEEN);
    node.append(unseen ? el('span', {className: 'ctl', textContent: `⟨${name(char)}⟩`})
      : el('span', {className: 'odd', textContent: char, title: [...char].map(name).join(' ')}));
    at = found.index + char.length;
  }
  node.append(text.slice(at));
  return node;
}

// Colours: words, strings, numbers and comments, line by line.

const SLASH = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|`(?:\\.|[^`\\])*`?)|(\b\d[\w.]*)|([A-Za-z_$][\w$]*)/g;
const HASH = /(#.*)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\b\d[\w.]*)|([A-Za-z_][\w]*)/g;
const DASH = /(--.*)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\b\d[\w.]*)|([A-Za-z_][\w]*)/g;
const TAGS = /(<!--.*?(?:-->|$))|("[^"]*"?)|(&#?\w+;)|(<\/?[A-Za-z][\w:-]*|\/?>)/g;
const BY_ENDING = {};
for (const [pattern, endings] of [
  [SLASH, 'js mjs cjs ts tsx jsx java c h cc cpp hpp cs go rs swift kt scala php css scss less json dart proto zig'],
  [HASH, 'py pyi rb sh bash zsh fish yml yaml toml ini cfg conf r pl mk dockerfile makefile cmake ex exs nim tf'],
  [DASH, 'sql lua hs elm ada'],
  [TAGS, 'html htm xml svg vue svelte xhtml'],
]) for (const ending of endings.split(' ')) BY_ENDING[ending] = pattern;
const KEYWORDS = new Set(`abstract and as assert async await begin break case catch class const continue def default defer del
do elif else elsif end enum except export extends false False finally fn for foreach from func function go goto if impl
implements import in instanceof interface is lambda let local loop match mod module mut namespace new nil None nonlocal not
null or package pass private protected pub public raise readonly rescue return self select static struct super switch this
then throw throws trait true True try type typeof undefined union unless until use using var void where while with yield
SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL`.split(/\s+/));
const CLASSES = ['', 'c', 's', 'n', 'k'];

function patternFor(path) {
  const last = (path || '').split('/').pop().toLowerCase();
  return BY_ENDING[last.includes('.') ? last.split('.').pop() : last] || null;
}

function tokens(text, pattern) {
  if (!pattern || text.length > LONGEST) return [['', text]];
  const found = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const kind = match.findIndex((group, number) => number && group !== undefined);
    if (kind === 4 && pattern !== TAGS && !KEYWORDS.has(match[0])) continue;
    if (match.index > at) found.push(['', text.slice(at, match.index)]);
    found.push([CLASSES[kind], match[0]]);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(['', text.slice(at)]);
  return found;
}

function code(text, pattern, marked) {
  const cell = el('td', {className: 'code'});
  const [from, to] = marked || [0, 0];
  let at = 0;
  for (const [kind, piece] of tokens(text, pattern)) {
    // A token may be marked in part: it is cut where the mark begins and ends.
    const cuts = [0, from - at, to - at, piece.length].map(cut => Math.min(Math.max(cut, 0), piece.length));
    for (let number = 0; number < 3; number++) {
      const part = piece.slice(cuts[number], cuts[number + 1]);
      if (!part) continue;
      const inside = kind ? el('span', {className: kind}) : null;
      const mark = number === 1 ? el('mark') : null;
      put(inside || mark || cell, part);
      if (inside && mark) mark.append(inside);
      if (mark || inside) cell.append(mark || inside);
    }
    at += piece.length;
  }
  return cell;
}

// Diffs.

function changed(old, now) {
  // Return where two lines differ, unless that is nearly everywhere.
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start++;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  if (!most || start + end < most * 0.3) return [null, null];
  return [[start, old.length - end], [start, now.length - end]];
}

function* pairs(lines) {
  // Yield the lines of a hunk as pairs of old and new, each with its number and where it differs.
  const [, oldStart, newStart] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(lines[0]) || [null, 1, 1];
  let oldNo = +oldStart, newNo = +newStart;
  for (let at = 1; at < lines.length;) {
    if (lines[at][0] === ' ' || lines[at][0] === '\\') {
      const note = lines[at][0] === '\\';
      const side = {text: note ? lines[at] : lines[at].slice(1), note};
      yield [{...side, no: note ? '' : oldNo++, kind: ''}, {...side, no: note ? '' : newNo++, kind: ''}];
      at++;
      continue;
    }
    const olds = [], news = [];
    for (; at < lines.length && '-+\\'.includes(lines[at][0]); at++) {
      if (lines[at][0] === '\\') {
        const last = (lines[at - 1][0] === '-' ? olds : news).at(-1);
        if (last) last.noBreak = true;
      } else if (lines[at][0] === '-') olds.push({text: lines[at].slice(1), no: oldNo++, kind: 'removed'});
      else news.push({text: lines[at].slice(1), no: newNo++, kind: 'added'});
    }
    for (let number = 0; number < Math.max(olds.length, news.length); number++) {
      const [old, now] = [olds[number] || null, news[number] || null];
      if (old && now) [old.marked, now.marked] = changed(old.text, now.text);
      yield [old, now];
    }
  }
}

function* unified(lines) {
  let olds = [], news = [];
  for (const [old, now] of pairs(lines)) {
    if (old && now && !old.kind) {
      yield* olds; yield* news;
      olds = []; news = [];
      yield {...old, newNo: now.no};
      continue;
    }
    if (old) olds.push(old);
    if (now) news.push({...now, newNo: now.no, no: ''});
  }
  yield* olds; yield* news;
}

function noBreak(cell, side) {
  if (side.noBreak) cell.append(el('span', {className: 'c', textContent: '  (no line break at the end)'}));
  return cell;
}

function rowsOf(lines, pattern, asPairs) {
  const rows = [];
  if (!asPairs) {
    for (const line of unified(lines)) {
      rows.push(() => el('tr', {className: line.kind},
        el('td', {className: 'no', textContent: line.no ?? ''}),
        el('td', {className: 'no', textContent: line.newNo ?? ''}),
        el('td', {className: 'sign', textContent: {added: '+', removed: '−'}[line.kind] || ''}),
        noBreak(code(line.text, line.note ? null : pattern, line.marked), line)));
    }
    return rows;
  }
  const half = side => side ? [
    el('td', {className: `no ${side.kind}`, textContent: side.no}),
    (cell => { cell.classList.add(side.kind || 'same'); return noBreak(cell, side); })(code(side.text, side.note ? null : pattern, side.marked)),
  ] : [el('td', {className: 'no gap'}), el('td', {className: 'code gap'})];
  for (const [old, now] of pairs(lines)) rows.push(() => el('tr', {}, ...half(old), ...half(now)));
  return rows;
}

function hunkView(operation, number, lines, room) {
  const asPairs = split && wide.matches;
  const rows = rowsOf(lines, patternFor(operation.path), asPairs);
  const body = el('tbody');
  const table = el('table', {className: asPairs ? 'pairs' : 'unified', 'aria-label': `Diff of ${operation.target}`}, body);
  let shown = 0;
  const show = most => { for (; shown < Math.min(rows.length, most); shown++) body.append(rows[shown]()); };
  show(room);
  const count = operation.hunks;
  const pick = picks[operation.index];
  const at = lines[0];
  const head = count > 1 && data.live ? el('label', {},
    el('input', {type: 'checkbox', className: 'live', checked: !pick.off.has(number), disabled: done,
      'aria-label': `hunk ${number} of ${count} of ${operation.target}`,
      on: {change: event => { pickHunk(operation, number, event.target.checked); }}}),
    `hunk ${number} of ${count}  ${at}`) : el('p', {className: 'at', textContent: at});
  const view = el('section', {className: 'hunk', 'aria-label': `hunk ${number} of ${count}`}, head, table);
  view.classList.toggle('off', pick.off.has(number));
  if (shown < rows.length) {
    const more = el('button', {type: 'button', className: 'more'});
    const label = () => { more.textContent = `Show ${Math.min(MORE_ROWS, rows.length - shown)} more of ${rows.length} lines`; };
    more.addEventListener('click', () => { show(shown + MORE_ROWS); shown < rows.length ? label() : more.remove(); });
    label();
    view.append(more);
  }
  return view;
}

// What the outcome of an operation is called: before, and after.

// The words before are those of status lines of a plan.
const WOULD = {created: 'would create', overwritten: 'would overwrite', appended: 'would append', unchanged: 'unchanged',
  edited: 'would edit', moved: 'would move', removed: 'would remove', ran: 'would run'};
const DID = {created: 'created', overwritten: 'overwritten', appended: 'appended', unchanged: 'unchanged', edited: 'edited',
  moved: 'moved', removed: 'removed', ran: 'ran'};

function plural(number, word) {
  return `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;
}

// What a command will do that needed approval, and was answered.
const ANSWERED = {once: ['good', 'approved once'], always: ['good', 'approved for good'], never: ['bad', 'will be blocked']};

function answered(index) {
  const [kind, text] = ANSWERED[answers[index]];
  return [kind, kind === 'good' && networks[index] ? `${text}, with the network` : text];
}

function outcome(task, words) {
  if (task.status === 'error') return ['bad', `${words === WOULD ? 'would fail' : 'failed'}: ${task.error.message}`];
  if (task.status === 'skipped') {
    if (words === WOULD && task.lacking) return ['wait', 'needs your approval'];
    if (words === WOULD && task.command !== null && task.reason.startsWith('not run in a dry run')) return ['', 'runs without asking'];
    return ['wait', words === DID && task.reason === 'not chosen' ? 'left out' : `skipped: ${task.reason}`];
  }
  const parts = [task.status === 'rolled_back' ? 'rolled back' : words[task.result] || task.result];
  if (task.replacements) parts.push(`${plural(task.replacements, 'replacement')}`);
  if (task.result !== 'unchanged' && task.bytes !== null && !task.replacements) parts.push(plural(task.bytes, 'byte'));
  if (task.exit_code !== null && words === DID) parts.push(`exit ${task.exit_code}`);
  parts.push(...task.remarks);
  return [task.status === 'rolled_back' ? 'bad' : 'good', parts.join(', ')];
}

// One operation.

function commandView(operation) {
  const view = el('div', {className: 'command'}, put(el('pre', {tabIndex: 0, 'aria-label': 'Command'}), operation.command, ODD));
  if (operation.dir) view.append(put(el('p', {textContent: 'in '}), operation.dir, ODD));
  const odd = [...new Set(operation.command.match(/[^\x00-\x7f]/gu) || [])].slice(0, 5);
  if (odd.length) view.append(el('p', {className: 'wait', textContent: `beware of ${odd.map(name).join(', ')}: not ASCII, and it may look like it`}));
  for (const {path, how} of operation.changes.slice(0, MOST_CHANGES)) view.append(put(el('p', {textContent: `${how} `}), path, ODD));
  if (operation.changes.length > MOST_CHANGES) view.append(el('p', {textContent: `and ${operation.changes.length - MOST_CHANGES} more`}));
  if (!operation.lacking || !data.live) {
    if (operation.lacking) view.append(put(el('p', {className: 'wait', textContent: 'needs approval: '}), operation.lacking));
    return view;
  }
  const index = operation.index;
  const choice = (value, text) => el('label', {}, el('input', {type: 'radio', name: `approve-${index}`, value, disabled: done,
    checked: answers[index] === value, on: {change: () => { approve(operation, value); }}}), text);
  view.append(el('fieldset', {className: 'live'}, put(el('legend', {textContent: 'May it run? '}), operation.lacking),
    choice('', 'Not yet'), choice('once', 'Once'), choice('always', 'Always'), choice('never', 'Never, block it'),
    el('label', {}, el('input', {type: 'checkbox', checked: networks[index], disabled: done,
      on: {change: event => { networks[index] = event.target.checked; refresh(operation); }}}), 'with the network')));
  return view;
}

function troubleView(task) {
  const view = el('div', {className: 'trouble'}, put(el('p', {className: 'bad'}), task.error.hint ? `${task.error.message}; ${task.error.hint}` : task.error.message));
  const nearest = task.error.nearest;  // which the hint tells in words
  if (nearest && (nearest.wanted !== null || nearest.found !== null)) {
    const lines = [`@@ -${nearest.differing_line} +${nearest.differing_line} @@`];
    if (nearest.found !== null) lines.push(`-${nearest.found}`);
    if (nearest.wanted !== null) lines.push(`+${nearest.wanted}`);
    const body = el('tbody');
    rowsOf(lines, null, false).forEach(row => body.append(row()));
    view.append(el('p', {className: 'kind', textContent: 'the file has −, the answer asks for +'}),
      el('table', {className: 'unified', 'aria-label': 'The nearest place'}, body));
  }
  if (task.error.details) view.append(put(el('pre', {tabIndex: 0, 'aria-label': 'What the file has'}), task.error.details));
  return view;
}

function bodyView(operation) {
  const index = operation.index;
  const work = el('div', {className: 'work'});
  if (operation.command !== null) work.append(commandView(operation));
  if (operation.status === 'error') work.append(troubleView(operation));
  if (isHidden(operation)) work.append(el('p', {className: 'trouble', textContent: 'No diff is shown: it is binary, or too much has changed.'}));
  if (operation.hunks) {
    const place = el('div');
    place.style.minHeight = `${Math.min(operation.rows, FIRST_ROWS) * ROW}px`;
    work.append(place);
    diffOf(index).then(hunks => {
      place.style.minHeight = '';
      let room = FIRST_ROWS;
      hunks.forEach((lines, number) => {
        place.append(hunkView(operation, number + 1, lines, Math.max(room, 3)));
        room -= lines.length;
      });
    }, () => { place.textContent = 'The diff could not be loaded.'; });
  }
  work.append(el('pre', {className: 'output', role: 'log', 'aria-label': 'Output', tabIndex: 0, hidden: true}));
  const body = el('div', {className: 'body'});
  if (operation.prose) {
    body.classList.add('beside');
    body.append(put(el('p', {className: 'prose'}), operation.prose));
  }
  body.append(work);
  return body;
}

// A file that is written, and whose diff is not shown: it is binary, or too much.
function isHidden(operation) {
  return operation.status === 'planned' && operation.command === null && ['write', 'edit'].includes(operation.operation)
    && operation.changes.length > 0 && !operation.hunks && operation.bytes !== 0;
}

function isEmpty(operation) {
  return !operation.prose && !isHidden(operation) && !operation.hunks && operation.command === null && operation.status !== 'error' && !(outputs[operation.index] || []).length;
}

function cardView(operation) {
  const index = operation.index;
  const title = `operation-${index}`;
  const box = el('input', {type: 'checkbox', className: 'live take', 'aria-label': `take ${operation.operation} ${operation.target}`,
    on: {change: event => { pickOperation(operation, event.target.checked); }}});
  const fold = el('button', {type: 'button', className: 'plain fold', hidden: isEmpty(operation), 'aria-label': `details of ${operation.target}`,
    on: {click: () => { foldOperation(operation); }}});
  const size = el('span', {className: 'size'});
  if (operation.added) size.append(el('span', {className: 'plus', textContent: `+${operation.added}`}), ' ');
  if (operation.removed) size.append(el('span', {className: 'minus', textContent: `−${operation.removed}`}));
  const top = el('div', {className: 'top'}, box,
    el('h3', {id: title}, el('span', {className: 'kind', textContent: `${operation.label} ${operation.operation}`}),
      put(el('span', {className: 'target'}), operation.command === null ? operation.target : operation.target.split('\n')[0], ODD)),
    size, el('span', {className: 'outcome'}), fold);
  const card = el('article', {className: 'card', tabIndex: -1, 'aria-labelledby': title, 'aria-posinset': index + 1,
    'aria-setsize': data.operations.length, on: {focusin: () => { current = index; }}}, top);
  card.dataset.index = index;
  if (!folded.has(index) && !isEmpty(operation)) card.append(bodyView(operation));
  refresh(operation, card);
  return card;
}

function cardOf(index) {
  return document.querySelector(`.card[data-index="${index}"]`);
}

function refresh(operation, card = cardOf(operation.index)) {
  // Show the present state of an operation, if it is rendered.
  if (!card) return;
  const index = operation.index;
  const pick = picks[index];
  const result = results[index];
  const running = result === 'running';
  const [kind, text] = running ? ['wait', 'running …'] : result ? outcome({...operation, ...result}, DID)
    : answers[index] ? answered(index) : outcome(operation, WOULD);
  const shown = card.querySelector('.outcome');
  shown.className = `outcome ${kind}`;
  shown.textContent = '';
  put(shown, text);
  card.classList.toggle('off', data.live && !pick.on);
  card.classList.toggle('running', running);
  const box = card.querySelector('.take');
  box.checked = pick.on;
  box.indeterminate = pick.on && pick.off.size > 0;
  box.disabled = operation.invalid || done || busy;
  const fold = card.querySelector('.fold');
  fold.hidden = isEmpty(operation);
  fold.textContent = folded.has(index) ? 'Show' : 'Fold';
  fold.setAttribute('aria-expanded', String(!folded.has(index)));
  card.querySelectorAll('.hunk input').forEach((input, number) => {
    input.checked = pick.on && !pick.off.has(number + 1);
    input.disabled = done;
    input.closest('.hunk').classList.toggle('off', !input.checked);
  });
  card.querySelectorAll('fieldset input').forEach(input => {
    input.disabled = done;
    input.checked = input.type === 'radio' ? input.value === answers[index] : networks[index];
  });
  const output = card.querySelector('.output');
  const lines = outputs[index];
  if (output && lines) {
    output.hidden = false;
    output.textContent = lines.join('\n');
    output.scrollTop = output.scrollHeight;
  }
}

// Choosing.

function pickOperation(operation, on) {
  const pick = picks[operation.index];
  pick.on = on;
  pick.off.clear();
  refresh(operation);
  chose();
}

function pickHunk(operation, number, on) {
  const pick = picks[operation.index];
  if (!pick.on && on) for (let other = 1; other <= operation.hunks; other++) pick.off.add(other);
  on ? pick.off.delete(number) : pick.off.add(number);
  pick.on = pick.off.size < operation.hunks;
  if (!pick.on) pick.off.clear();
  refresh(operation);
  chose();
}

function approve(operation, answer) {
  answers[operation.index] = answer;
  if (answer) picks[operation.index].on = true;
  refresh(operation);
  chose();
}

function foldOperation(operation) {
  const index = operation.index;
  const card = cardOf(index);
  folded.has(index) ? folded.delete(index) : folded.add(index);
  if (!card || isEmpty(operation)) return;
  card.querySelector('.body')?.remove();
  if (!folded.has(index)) card.append(bodyView(operation));
  refresh(operation, card);
}

function chosen() {
  const request = {look: data.look, chosen: {}, answers: {}};
  for (const operation of data.operations) {
    const {on, off} = picks[operation.index];
    if (!on) continue;
    request.chosen[operation.index] = off.size ? hunksOf(operation).filter(number => !off.has(number)) : null;
    const answer = answers[operation.index];
    if (answer) request.answers[operation.index] = answer + (networks[operation.index] && answer !== 'never' ? '+network' : '');
  }
  return request;
}

function hunksOf(operation) {
  return Array.from({length: operation.hunks}, (_, at) => at + 1);
}

// The other way round: a page that is loaded again shows what was chosen for the run.
function restore(request) {
  for (const operation of data.operations) {
    const index = operation.index;
    const numbers = request.chosen[index];
    picks[index] = {on: index in request.chosen, off: new Set(numbers ? hunksOf(operation).filter(number => !numbers.includes(number)) : [])};
    const [answer, network] = (request.answers[index] || '').split('+');
    answers[index] = answer;
    networks[index] = network !== undefined;
  }
}

let checking = 0;
// What is taken, and would fail or may not run, is only reported.
function isTried({index, status, lacking}) {
  return picks[index].on && status !== 'error' && (!lacking || ['once', 'always'].includes(answers[index]));
}

function chose() {
  const tried = data.operations.filter(isTried).length;
  const taken = picks.some(pick => pick.on);
  const failing = data.operations.filter(operation => operation.status === 'error').length;
  const waiting = data.operations.filter(operation => operation.lacking && picks[operation.index].on && !answers[operation.index]).length;
  $('where').textContent = [(data.workspace || '').split('/').pop(), plural(data.operations.length, 'operation'),
    failing ? `${failing} would fail` : '', waiting ? `${plural(waiting, 'command')} to approve` : ''].filter(Boolean).join(' · ');
  $('apply').textContent = taken && !tried ? 'Get the report' : `Apply ${tried} of ${data.operations.length}`;
  $('apply').disabled = busy || done || !taken;
  clearTimeout(checking);
  if (data.live && !done && !busy) checking = setTimeout(check, 150);
}

async function check() {
  const answer = await post('check', chosen()).catch(() => null);
  const warnings = answer && answer.ok ? await answer.json() : [];
  if (!done && !busy) say(warnings.length ? `Careful: ${warnings.slice(0, 3).join('; ')}${warnings.length > 3 ? ` and ${warnings.length - 3} more` : ''}` : '');
}

// Diffs that are not in the page yet.

const asked = new Map();
function diffOf(index) {
  if (data.diffs[index]) return Promise.resolve(data.diffs[index]);
  const start = index - index % CHUNK;
  if (!asked.has(start)) {
    const forget = error => { asked.delete(start); throw error; };
    asked.set(start, fetch(`diffs?look=${data.look}&from=${start}&to=${start + CHUNK}`).then(answer => {
      if (!answer.ok) throw new Error(answer.statusText);
      return answer.json();
    }).catch(forget));
  }
  return asked.get(start).then(hunks => hunks[index]);
}

// Rendering what is near, and only that.

const observer = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const chunk = entry.target;
    if (entry.isIntersecting) fill(chunk);
    else if (chunk.firstChild && !chunk.contains(document.activeElement)) {
      chunk.style.height = `${chunk.offsetHeight}px`;
      chunk.replaceChildren();
    }
  }
}, {rootMargin: `${NEAR}px 0px`});

function fill(chunk) {
  if (chunk.firstChild) return;
  const start = +chunk.dataset.start;
  chunk.append(...data.operations.slice(start, start + CHUNK).map(cardView));
  chunk.style.height = '';
}

// How high an operation is without its diff: measured where some are rendered, so that scrolling hardly shifts.
let base = 80;

function heightOf(operation) {
  const rows = folded.has(operation.index) ? 0 : Math.min(operation.rows, FIRST_ROWS);
  return base + rows * ROW + (operation.command === null ? 0 : 60);
}

function sumOf(operations) {
  return operations.reduce((sum, operation) => sum + heightOf(operation), 0);
}

function render() {
  observer.disconnect();
  $('list').replaceChildren();
  chunks = [];
  for (let start = 0; start < data.operations.length; start += CHUNK) {
    const chunk = el('div', {role: 'presentation'});
    chunk.dataset.start = start;
    chunks.push(chunk);
  }
  $('list').append(...chunks);
  // What is seen first is there at once; the others keep a place.
  if (chunks[0]) fill(chunks[0]);
  chunks.slice(1).forEach((chunk, number) => {
    chunk.style.height = `${sumOf(data.operations.slice((number + 1) * CHUNK, (number + 2) * CHUNK))}px`;
  });
  chunks.forEach(chunk => { observer.observe(chunk); });
  if (chunks.length > 1) requestAnimationFrame(() => { setTimeout(calibrate, 50); });
}

function calibrate() {
  const first = data.operations.slice(0, CHUNK);
  if (!chunks[0]?.firstChild) return;
  base += (chunks[0].offsetHeight - sumOf(first)) / first.length;
  chunks.forEach((chunk, number) => {
    if (!chunk.firstChild) chunk.style.height = `${sumOf(data.operations.slice(number * CHUNK, (number + 1) * CHUNK))}px`;
  });
}

function show() {
  picks = data.operations.map(operation => ({on: operation.taken, off: new Set()}));
  answers = data.operations.map(() => '');
  networks = data.operations.map(() => false);
  folded = new Set();
  results = {};
  outputs = {};
  current = -1;
  done = false;
  report = null;
  asked.clear();
  $('where').title = data.workspace || '';
  $('messages').replaceChildren();
  document.title = TITLE;
  if (data.fatal) note(data.fatal, true);
  data.not_applied.forEach(text => { note(text, true); });
  if (data.for_llm && data.live) $('messages').append(el('button', {type: 'button', className: 'primary', textContent: 'Copy for the chat', on: {click: copy}}));
  if (data.empty) note('Paste an answer: Ctrl+V, or the key p.');
  else data.notes.forEach(text => { note(text); });
  $('report').hidden = true;
  $('closing').replaceChildren();
  put($('closing'), data.closing);
  render();
  chose();
}

function note(text, bad = false) {
  $('messages').append(put(el('p', {className: bad ? 'note bad' : 'note'}), text));
}

function say(text) {
  $('status').textContent = text;
}

// Talking to the server.

function post(path, value, type = 'application/json') {
  const body = type === 'application/json' ? JSON.stringify(value ?? null) : value;
  return fetch(path, {method: 'POST', headers: {'Content-Type': type}, body});
}

async function ask(path, value, type) {
  const answer = await post(path, value, type).catch(() => null);
  if (answer && answer.ok) return true;
  const why = answer ? await answer.text() : 'clada review has ended: start it again';
  note(why, true);
  say(why);
  return false;
}

function setBusy(now) {
  busy = now;
  $('stop').hidden = !now;
  for (const id of ['undo', 'again', 'next', 'all', 'none']) $(id).disabled = now || (id === 'undo' && !(report && report.recorded !== null));
  chose();
  rendered();
}

function rendered() {
  document.querySelectorAll('.card').forEach(card => { refresh(data.operations[+card.dataset.index], card); });
}

async function apply() {
  if ($('apply').disabled) return;
  setBusy(true);
  say('Checking that nothing has changed …');
  if (!await ask('apply', chosen())) setBusy(false);
}

// Say how it went: in the heading of the report, and in the title of the page.
function head(text, good) {
  $('report-title').textContent = text;
  $('report-title').className = good ? 'good' : 'bad';
  document.title = `${text} · ${TITLE}`;
}

const HANDLERS = {
  begun(event) { restore(event); done = true; report = null; $('report').hidden = true; $('messages').replaceChildren(); setBusy(true); },
  started(event) { results[event.index] = 'running'; touched.add(event.index); },
  output(event) {
    const lines = outputs[event.index] ||= [];
    lines.push(...event.lines);
    if (lines.length > MOST_OUTPUT) lines.splice(0, lines.length - MOST_OUTPUT);
    touched.add(event.index);
  },
  ended(event) { results[event.index] = event; touched.add(event.index); },
  note(event) { note(event.text); },
  report(event) {
    report = event;
    done = event.done;
    setBusy(false);
    $('report-text').textContent = '';
    put($('report-text'), event.text);
    $('report').hidden = false;
    $('copy').hidden = false;
    $('undo').hidden = event.recorded === null;
    head(event.heading, event.ok);
    $('report-title').focus();
    $('report').scrollIntoView({block: 'start'});
  },
  failed(event) {
    setBusy(false);
    note(event.message, true);
    say(event.message);
    if (!report) {
      head('Nothing was carried out', false);
      $('report-text').textContent = '';
      $('copy').hidden = $('undo').hidden = true;
      $('report').hidden = false;
    }
    $('messages').scrollIntoView({block: 'end'});
  },
  undone(event) {
    report = null;
    setBusy(false);
    $('copy').hidden = $('undo').hidden = true;
    head('Undone', true);
    const lines = [...event.restored.map(path => `restored ${path}`), ...event.removed.map(path => `removed ${path}`), ...event.notes];
    $('report-text').textContent = '';
    put($('report-text'), lines.join('\n') || 'There was nothing to restore.');
    say(`Undone: ${event.restored.length} restored, ${event.removed.length} removed.`);
    $('report-title').focus();
  },
};

const touched = new Set();
let drawing = false;
function draw() {
  drawing = false;
  touched.forEach(index => { refresh(data.operations[index]); });
  touched.clear();
  const values = Object.values(results);
  const ended = values.filter(result => result !== 'running' && result.status !== 'skipped').length;
  const failed = values.filter(result => result.status === 'error').length;
  const now = data.operations.find(operation => results[operation.index] === 'running');
  if (busy && now) say(`${ended} done${failed ? `, ${failed} failed` : ''}; running ${now.operation} ${now.target.split('\n')[0].slice(0, 80)}`);
  else if (report) say(`${ended - failed} done${failed ? `, ${failed} failed` : ''}`);
}

function listen() {
  stream?.close();
  stream = new EventSource(`events?look=${data.look}`);
  stream.onmessage = message => {
    for (const event of JSON.parse(message.data)) {
      if (event.type === 'look') { look(); return; }
      HANDLERS[event.type](event);
    }
    if (!drawing) { drawing = true; requestAnimationFrame(draw); }
  };
  stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) say('clada review has ended.'); };
}

async function look() {
  stream.close();
  const answer = await fetch('plan');
  data = await answer.json();
  show();
  setBusy(false);
  listen();
  window.scrollTo(0, 0);
  say('');
}

// Keys and buttons.

function move(step) {
  const next = Math.min(Math.max(current + step, 0), data.operations.length - 1);
  const chunk = chunks[Math.floor(next / CHUNK)];
  if (!chunk) return;
  fill(chunk);
  cardOf(next).focus({preventScroll: true});
  cardOf(next).scrollIntoView({block: 'start'});
}

function pickAll(on) {
  for (const operation of data.operations) {
    if (operation.invalid) continue;
    picks[operation.index] = {on, off: new Set()};
  }
  rendered();
  chose();
}

async function copy() {
  const text = report ? report.for_llm : data.for_llm;
  if (!text) return;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', {value: text});
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say('The report is on the clipboard.');
}

function paste(text = '') {
  if (busy) return;
  $('answer').value = text;
  $('paste').showModal();
  $('answer').focus();
}

async function take() {
  const text = $('answer').value;
  if (!text.trim()) return;
  $('paste').close();
  setBusy(true);
  say('Looking …');
  if (!await ask('next', text, 'text/plain;charset=utf-8')) setBusy(false);
}

async function undo() {
  if (!report || report.recorded === null || busy) return;
  setBusy(true);
  say('Undoing …');
  if (!await ask('undo')) setBusy(false);
}

async function again() {
  setBusy(true);
  if (!await ask('look')) setBusy(false);
}

function toggleSplit() {
  if (!wide.matches) return;
  split = !split;
  $('split').setAttribute('aria-pressed', String(split));
  renderDiffs();
}

function renderDiffs() {
  chunks.forEach(chunk => { if (chunk.firstChild) { chunk.replaceChildren(); fill(chunk); } });
}

async function quit() {
  if (await ask('quit')) { stream?.close(); say('clada review has ended. This tab can be closed.'); window.close(); }
}

const operationNow = () => data.operations[current];
const KEYS = {
  j: () => { move(1); }, k: () => { move(-1); }, s: toggleSplit, '?': () => { $('keys').showModal(); },
  o: () => { if (operationNow()) foldOperation(operationNow()); },
};
const LIVE_KEYS = {
  x: () => { const now = operationNow(); if (now && !now.invalid && !done && !busy) pickOperation(now, !picks[now.index].on); },
  e: () => { if (!done && !busy) pickAll(true); }, a: apply, u: undo, c: copy, p: () => { paste(); },
};

document.addEventListener('keydown', event => {
  const typing = event.target.closest('dialog[open]');  // one that was just closed may have the focus for a moment
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = KEYS[event.key] || (data.live && LIVE_KEYS[event.key]);
  if (!action) return;
  event.preventDefault();
  action();
});
document.addEventListener('paste', event => {
  const text = event.clipboardData?.getData('text/plain');
  if (!data.live || !text || event.target.closest?.('dialog[open] textarea')) return;
  event.preventDefault();
  paste(text);
});
wide.addEventListener('change', () => { if (split) renderDiffs(); });
window.addEventListener('beforeprint', () => { chunks.forEach(fill); });
window.addEventListener('beforeunload', event => { if (busy) event.preventDefault(); });
const BUTTONS = {split: toggleSplit, all: () => { pickAll(true); }, none: () => { pickAll(false); }, help: KEYS['?'], apply,
  stop: () => { ask('stop'); }, copy, undo, again, next: () => { paste(); }, take, quit};
for (const [id, action] of Object.entries(BUTTONS)) $(id).addEventListener('click', action);
document.querySelectorAll('.closes').forEach(button => { button.addEventListener('click', () => { button.closest('dialog').close(); }); });
document.body.classList.toggle('static', !data.live);
if (!data.live) $('what').textContent = 'plan';
show();
if (data.live) listen();
})();
