// A roofline of the steady part's ops: each op a point, its time over the limit of its shape. On the line
// an op takes as long as its FLOPs or its bytes need.

/** Points that are drawn: those of the longest ops. */
const MOST_POINTS = 3000;
const LIMIT_HUES = { FLOPs: 125, DRAM: 175 };

const picture = document.querySelector('svg.roofline');

const roofline = { points: new Map(), picked: -1 };

function buildRoofline() {
  const known = steadyOps.filter((op) => ops.time_ns[op] > 0 && ops.limit_ns[op] > 0 && ops.is_limit_exact[op]);
  if (!known.length) { byId('roofline').hidden = true; return; }
  const shown = [...known].sort((one, other) => ops.time_ns[other] - ops.time_ns[one]).slice(0, MOST_POINTS);
  const legend = h('div.legend');
  const fill = () => {
    drawRoofline(shown);
    legend.replaceChildren(...rooflineLegend(shown, known));
  };
  fill();
  isDark.addEventListener('change', fill);
  byId('roofline').append(legend);
}

function drawRoofline(shown) {
  const width = 440, height = 320, left = 58, right = 26, top = 22, bottom = 40;
  const log = Math.log10, all = shown.flatMap((op) => [ops.time_ns[op], ops.limit_ns[op]]);
  const least = all.reduce((one, other) => Math.min(one, other)), most = all.reduce((one, other) => Math.max(one, other));
  const first = Math.floor(log(least)), last = Math.max(Math.ceil(log(most)), first + 1);
  const x = (ns) => left + (log(ns) - first) / (last - first) * (width - left - right);
  const y = (ns) => height - bottom - (log(ns) - first) / (last - first) * (height - top - bottom);
  const decades = upTo(last - first + 1).map((step) => 10 ** (first + step));
  const step = Math.ceil(decades.length / 8);
  const grid = decades.flatMap((ns, index) => {
    const lines = [drawn('line', { x1: x(ns), x2: x(ns), y1: top, y2: height - bottom }), drawn('line', { x1: left, x2: width - right, y1: y(ns), y2: y(ns) })];
    if (index % step) return lines;
    const text = rulerText(ns, ns);
    return [...lines, drawn('text', { x: x(ns), y: height - bottom + 14, 'text-anchor': 'middle' }, text), drawn('text', { x: left - 6, y: y(ns) + 4, 'text-anchor': 'end' }, text)];
  });
  const end = 10 ** last, start = 10 ** first;
  const roof = (times, className) => drawn('line', { class: className, x1: x(start), y1: y(start * times), x2: x(end / times), y2: y(end) });
  const marks = [drawn('text', { x: x(end) - 4, y: y(end) + 26, 'text-anchor': 'end' }, 'limit'), drawn('text', { x: x(end / 10) - 4, y: y(end) + 12, 'text-anchor': 'end' }, '10 ×')];
  roofline.points.clear();
  // The longest are drawn first, so that short ones are not hidden.
  const points = shown.map((op) => {
    const title = `${opLabel(op)}: ${timeText(ops.time_ns[op])}, ${(ops.time_ns[op] / ops.limit_ns[op]).toFixed(1)} × its limit of ${timeText(ops.limit_ns[op])} (${ops.is_flops_limit[op] ? 'FLOPs' : 'DRAM'})`;
    const open = () => { pickOp(op); byId('op').scrollIntoView({ block: 'nearest' }); };
    const point = drawn('circle', { cx: x(ops.limit_ns[op]), cy: y(ops.time_ns[op]), r: 4, fill: markOf(LIMIT_HUES[ops.is_flops_limit[op] ? 'FLOPs' : 'DRAM']), onclick: open, 'data-op': op }, drawn('title', {}, title));
    roofline.points.set(op, point);
    return point;
  });
  const axes = [drawn('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, 'least time by shape'), drawn('text', { x: left, y: 12, 'text-anchor': 'middle' }, 'time')];
  picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
  picture.replaceChildren(...grid, roof(1, 'limit'), roof(10, 'far'), ...marks, ...axes, ...points);
  markPoint(roofline.picked);
}

function rooflineLegend(shown, known) {
  const kinds = Object.entries(LIMIT_HUES).map(([name, hue]) => {
    const swatch = h('i.swatch');
    swatch.style.backgroundColor = markOf(hue);
    return h('span', {}, swatch, `limit by ${name}`);
  });
  const without = steadyOps.filter((op) => !ops.is_host[op]).length - known.length;
  const words = [shown.length < known.length && `the longest ${grouped(shown.length)} of ${counted(known.length, 'op')}`, without && `${counted(without, 'op')} without a known limit`].filter(Boolean);
  return [...kinds, listed(words)];
}

/** Marks the point of an op. */
function markPoint(op) {
  roofline.points.get(roofline.picked)?.classList.remove('picked');
  roofline.points.get(op)?.classList.add('picked');
  roofline.picked = op;
}
