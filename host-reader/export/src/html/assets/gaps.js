// The time between ops, and where it is not known.

function buildGaps() {
  const section = byId('gaps');
  const known = upTo(opCount).filter((op) => ops.op_to_op_latency_cycles[op] !== null);
  const unknown = upTo(opCount).filter((op) => ops.latency_doubt[op] !== null);
  if (!known.length && !unknown.length) { section.hidden = true; return; }
  const ns = (op) => ops.op_to_op_latency_cycles[op] / opDevice(op).ghz;
  const sorted = [...known].sort((a, b) => ns(b) - ns(a));
  const fill = () => {
    if (!known.length) return [unknownGaps(unknown)];
    const total = known.reduce((sum, op) => sum + ns(op), 0);
    const half = upTo(sorted.length).find((i) => sorted.slice(0, i + 1).reduce((sum, op) => sum + ns(op), 0) >= total / 2) + 1;
    const middle = ns(sorted[sorted.length >> 1]);
    const words = [`${counted(known.length, unknown.length ? 'known gap' : 'gap')}, ${timeText(total)} together, median ${timeText(middle)}. `,
      known.length > 4 ? (half === 1 ? 'The longest alone makes up half of it.' : `The longest ${grouped(half)} make up half of it.`) : ''];
    return [unknownGaps(unknown), h('p', {}, words), h('div.gaps', {}, gapHistogram(known.map(ns)), longestGaps(sorted.slice(0, 8), ns))];
  };
  const body = h('div', {}, fill());
  unit.listeners.push(() => body.replaceChildren(...fill()));
  section.append(body);
}

/** Gaps by their length, in bins that end at 1, 2, 5, 10, 20, 50 and so on. */
function gapHistogram(gaps) {
  const edge = (i) => [1, 2, 5][((i % 3) + 3) % 3] * 10 ** Math.floor(i / 3);
  const bin = (ns) => { let i = 0; while (edge(i + 1) <= ns) i++; return i; };
  const bins = gaps.map(bin);
  const first = bins.reduce((a, b) => Math.min(a, b)), last = bins.reduce((a, b) => Math.max(a, b));
  const counts = Array(last - first + 1).fill(0);
  for (const place of bins) counts[place - first]++;
  const most = Math.max(...counts);
  const edgeText = (i) => { const [scale, unit] = TIME_UNITS.find(([scale]) => edge(i) >= scale); return `${edge(i) / scale} ${unit}`; };
  const rows = counts.map((count, i) => h('tr', {}, h('th.number', { scope: 'row' }, `${edgeText(first + i)} – ${edgeText(first + i + 1)}`),
    h('td', {}, bar(count / most, 'quiet')), h('td.number', {}, grouped(count))));
  return h('table.plain.histogram', {}, h('caption', {}, 'How long gaps are'), h('tbody', {}, rows));
}

function longestGaps(gaps, ns) {
  const rows = gaps.map((op) => {
    return h('tr', {}, h('td', {}, betweenOps(op)), h('td.number', {}, unit.isTime ? timeText(ns(op)) : grouped(ops.op_to_op_latency_cycles[op])));
  });
  return h('table.plain.longest', {}, h('caption', {}, 'The longest'), h('tbody', {}, rows));
}

/** The ops around a gap. */
function betweenOps(op) {
  const before = opBefore(op);
  return h('span', {}, before < 0 ? 'start' : opLink(before), ' → ', opLink(op));
}

const MOST_UNKNOWN_GAPS = 8;

/** Gaps without a length: where launches may be missing, and other reasons. */
function unknownGaps(unknown) {
  if (!unknown.length) return '';
  const shown = unknown.slice(0, MOST_UNKNOWN_GAPS);
  const rows = shown.map((op) => h('tr', {}, h('td', {}, betweenOps(op)), h('td.bad', {}, gapDoubt(op))));
  const rest = unknown.length - shown.length;
  return h('div', {}, h('p', {}, h('strong.bad', {}, `${counted(unknown.length, 'gap')} not known`), rest ? `; the first ${grouped(shown.length)}:` : ':'),
    h('table.plain', {}, h('caption.unseen', {}, 'Gaps that are not known'), h('tbody', {}, rows)));
}
