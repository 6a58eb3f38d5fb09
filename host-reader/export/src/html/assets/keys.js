// Keys that work wherever the focus is, and the list of all keys.

const KEYS = [
  ['W S', 'zoom in, out'], ['A D', 'move left, right'], ['0', 'show all ops'], ['9', 'show everything, the host too'],
  ['N P', 'next op, op before'], ['F', 'show the slowest op'], ['U', 'cycles or time'], ['/', 'filter ops'], ['L', 'losses and anomalies'],
  ['← →', 'zone before, next zone (in the timeline)'], ['↑ ↓', 'outer, inner zone; lane above, below'], ['[ ]', 'before, next of the same name'],
  ['Enter', 'zoom to what is chosen'], ['Shift + drag', 'sum up a stretch of time'], ['Escape', 'choose nothing'], ['?', 'this list'],
];

function buildHelp() {
  const dialog = byId('help');
  dialog.append(h('h2', { id: 'help-title' }, 'Keys'),
    h('table', {}, h('tbody', {}, KEYS.map(([keys, what]) => h('tr', {}, h('td', {}, h('kbd', {}, keys)), h('td', {}, what))))),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
  byId('help-button').addEventListener('click', () => dialog.showModal());
}

/** True where keys belong to what has the focus. */
const isTyping = (element) => element.closest?.('input, select, textarea, dialog[open]') !== null;

function onGlobalKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const step = (by) => () => {
    const next = Math.max(0, Math.min(opCount - 1, (scene.selected?.op ?? opPage.op) + by));
    if (opCount) select({ op: next });
  };
  const actions = {
    n: step(1), p: step(-1), f: () => slowestOp >= 0 && openOp(slowestOp), u: () => chooseUnit(!unit.isTime),
    '/': () => opTable?.filter.focus(), l: () => byId('losses').scrollIntoView({ block: 'start' }), '?': () => byId('help').showModal(),
  };
  const ofTimeline = ['w', 'a', 's', 'd', '+', '=', '-', '0', '9', '[', ']', 'Escape'];
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (actions[key]) {
    event.preventDefault();
    actions[key]();
  } else if (ofTimeline.includes(key)) onTimelineKey(event);
}
