// Carrying out: what the server tells of a run, and the report after it.
import {$, el, operations, say, toggle} from './view.js';
import {ask, chosen, commandsNotApproved, commandsToRun, isIdle, message, save, setState} from './choose.js';

const MOST_OUTPUT = 500; // lines of a command's output that are shown: the end of it
const TITLE = document.title;
const version = document.body.dataset.version;
let report = null;
let stream = null;
let started = 0; // when the run began
let ticking = 0;
let running = null; // the operation that runs, and since when
const ended = new Map();

const opOf = index => $(`op-${index}`);
const title = text => { document.title = `${text} · ${TITLE}`; };

export function apply() {
  if ($('apply').disabled || $('apply').hidden) return;
  const commands = commandsToRun();
  if (!commands.length) { start(); return; }
  $('commands').replaceChildren(...commands.map(op => el('li', {}, el('code', {textContent: op.querySelector('.command-text pre').textContent}))));
  const missing = commandsNotApproved();
  $('unapproved').textContent = missing ? `${missing} more ${missing === 1 ? 'is' : 'are'} not approved, and will be reported as refused.` : '';
  $('confirm').showModal();
}

export async function start() {
  $('confirm').close();
  setState({busy: true});
  say('Checking that nothing has changed …');
  if (!await ask('apply', chosen())) setState({busy: false});
}

function tick() {
  const seconds = Math.round((Date.now() - started) / 1000);
  const count = `${ended.size} of ${operations().length}`;
  if (!running) return;
  const own = Math.round((Date.now() - running.since) / 1000);
  const outcome = running.op.querySelector('.outcome');
  outcome.textContent = own ? `running, ${own} s` : 'running';
  say(`${count} done, ${seconds} s; now: ${running.op.dataset.name.slice(0, 80)}`);
  title(`▶ ${count}`);
}

function follow(node) {
  if ($('follow').getAttribute('aria-pressed') === 'true') node.scrollIntoView({block: 'nearest'});
}

function setRunning(now) {
  $('stop').hidden = $('follow').hidden = !now;
  $('quit').hidden = now;
  clearInterval(ticking);
  if (now) ticking = setInterval(tick, 1000);
  else running = null;
}

const HANDLERS = {
  begun() {
    started = Date.now();
    report = null;
    ended.clear();
    $('report').hidden = true;
    setState({busy: true, done: true});
    setRunning(true);
    title('▶ running');
  },
  started({index}) {
    const op = opOf(index);
    running = {op, since: Date.now()};
    op.classList.add('running');
    op.querySelector('.outcome').className = 'outcome wait';
    tick();
    follow(op);
  },
  output({index, lines}) {
    const output = opOf(index).querySelector('.output');
    output.hidden = false;
    const kept = (output.textContent + lines.map(line => `${line}\n`).join('')).split('\n');
    output.textContent = kept.slice(-MOST_OUTPUT - 1).join('\n');
    output.scrollTop = output.scrollHeight;
    follow(output);
  },
  ended({index, colour, words, failed, status}) {
    const op = opOf(index);
    ended.set(index, status);
    op.classList.remove('running');
    op.classList.add(failed ? 'failed' : status === 'skipped' ? 'skipped' : 'done');
    Object.assign(op.querySelector('.outcome'), {className: `outcome ${colour}`, textContent: words});
    if (running?.op === op) running = null;
  },
  note({text}) { message(text); },
  report(event) {
    report = event;
    setRunning(false);
    setState({busy: false, done: event.done});
    $('report-title').textContent = event.heading;
    $('report').className = event.ok ? 'good' : 'bad';
    $('failures').replaceChildren(...event.failures.map(({index, text}) =>
      el('li', {}, el('a', {href: `#op-${index}`, textContent: text}))));
    $('report-text').textContent = event.text;
    $('undo').hidden = !event.can_undo;
    $('report').hidden = false;
    $('report').scrollIntoView({block: 'nearest'});
    $('report-title').focus();
    title(`${event.ok ? '✓' : '✗'} ${event.heading}`);
    const good = [...ended.values()].filter(status => status === 'success').length;
    say(`${good} done${event.failures.length ? `, ${event.failures.length} failed or skipped` : ''}`);
  },
  failed({message: why}) {
    setRunning(false);
    setState({busy: false, done: Boolean(report?.done)});
    message(why, 'bad');
    const again = el('button', {type: 'button', textContent: 'Look again'});
    again.addEventListener('click', () => send('reload'));
    $('messages').lastElementChild.append(' ', again);
    say(why);
    title('✗ Nothing was carried out');
    $('messages').scrollIntoView({block: 'center'});
  },
  arrived({count, source}) {
    $('arrived').querySelector('span').textContent = count === 1 ? `An answer has arrived: ${source}.` : `${count} answers have arrived; the first is ${source}.`;
    $('arrived').hidden = false;
    if (!running) title(`● ${count} new`);
  },
  reload() {
    stream.close();
    location.reload();
  },
};

export function listen() {
  stream = new EventSource(`events?version=${version}`);
  stream.onmessage = ({data}) => { for (const event of JSON.parse(data)) HANDLERS[event.type](event); };
  stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) say('clada review has ended.'); };
}

export async function send(path, value, type) {
  if (path !== 'undo' && path !== 'next') await save();
  setState({busy: true});
  if (!await ask(path, value, type)) setState({busy: false});
}

export async function copy() {
  const text = report ? report.for_llm : $('for-model')?.value;
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

export function undo() {
  if (report?.can_undo) send('undo');
}

export async function quit() {
  if (await ask('quit')) { stream?.close(); say('clada review has ended. This tab can be closed.'); window.close(); }
}

$('follow').addEventListener('click', () => { toggle($('follow')); });
$('run').addEventListener('click', start);
$('stop').addEventListener('click', () => ask('stop'));
$('arrived').querySelector('button').addEventListener('click', () => send('show'));
window.addEventListener('beforeunload', event => { if (!isIdle() && !report && ticking && running) event.preventDefault(); });
