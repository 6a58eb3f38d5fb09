// The chart of a memory's use: a column for each op, or for each launch over time, with what fills it.

/** Columns that are drawn at most; of ops that share one, the fullest is shown. */
const MOST_MEMORY_COLUMNS = 600;

/** Where each op stands on the axis: [row, from, to] in ops or nanoseconds. */
function memorySpans(chip, isByTime) {
  const rows = upTo(memoryOps.program.length).filter((row) => memoryOps.chip_id[row] === chip);
  if (!isByTime) return rows.map((row, place) => [row, place, place + 1]);
  const rowOf = new Map(rows.map((row) => [memoryOps.program[row], row]));
  const launches = upTo(opCount).filter((op) => opDevice(op).chip_id === chip && rowOf.has(ops.program[op])).sort((one, other) => ops.start_ns[one] - ops.start_ns[other]);
  // What an op has allocated stays until the next one.
  return launches.map((op, place) => [rowOf.get(ops.program[op]), ops.start_ns[op], place + 1 < launches.length ? ops.start_ns[launches[place + 1]] : ops.end_ns[op]]);
}

/** The columns that are drawn: [row, from, to, number of ops in it], each as wide as a pixel or more. */
function memoryColumns(spans, used) {
  const start = spans[0][1], whole = spans.at(-1)[2] - start || 1;
  if (spans.length <= MOST_MEMORY_COLUMNS) return spans.map(([row, from, to]) => [row, (from - start) / whole, (to - start) / whole, 1]);
  const buckets = new Map();
  for (const [row, from] of spans) {
    const place = Math.min(MOST_MEMORY_COLUMNS - 1, Math.floor((from - start) / whole * MOST_MEMORY_COLUMNS));
    const [most, count] = buckets.get(place) ?? [row, 0];
    buckets.set(place, [(used(row) ?? 0) > (used(most) ?? 0) ? row : most, count + 1]);
  }
  const places = [...buckets.keys()].sort((one, other) => one - other);
  return places.map((place, index) => [buckets.get(place)[0], place / MOST_MEMORY_COLUMNS, (places[index + 1] ?? MOST_MEMORY_COLUMNS) / MOST_MEMORY_COLUMNS, buckets.get(place)[1]]);
}

/** Draws the chart into the picture; `onPick` gets the row of a column that is clicked. */
function drawMemoryChart(picture, { name, chip, isByTime, picked, onPick }) {
  const { classes, used, capacity } = MEMORIES[name];
  const spans = memorySpans(chip, isByTime).filter(([row]) => used(row) !== null);
  const width = 1000, height = 240, left = 76, right = 8, top = 16, bottom = 22;
  picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
  if (!spans.length) { picture.replaceChildren(drawn('text', { x: left, y: height / 2 }, 'Not known of any op.')); return; }
  const columns = memoryColumns(spans, used);
  const capacities = spans.map(([row]) => capacity(row)).filter((bytes) => bytes !== null);
  const limit = capacities.length ? maximum(capacities) : null;
  const most = Math.max(limit ?? 0, maximum(spans.map(([row]) => used(row))));
  const x = (part) => left + part * (width - left - right), y = (bytes) => height - bottom - bytes / most * (height - top - bottom);
  const bars = columns.flatMap(([row, from, to, count]) => {
    let below = 0;
    const place = { x: x(from), width: Math.max(1, x(to) - x(from) - (columns.length < 200 ? 1 : 0)) };
    const parts = classes.filter((one) => one.bytes(row) > 0).map((one) => {
      const bytes = one.bytes(row), rectangle = drawn('rect', { ...place, y: y(below + bytes), height: y(below) - y(below + bytes), fill: memoryColour(one), 'data-class': one.key, 'data-bytes': bytes, 'data-row': row });
      below += bytes;
      return rectangle;
    });
    if (name === 'L1' && memoryOps.is_lower_bound[row]) parts.push(drawn('rect', { ...place, class: 'unknown', y: y(below) - 4, height: 3 }));
    const title = `${memoryLabel(row)}: ${memoryOps.is_lower_bound[row] && name === 'L1' ? 'at least ' : ''}${grouped(used(row))} bytes${count > 1 ? `, the fullest of ${counted(count, 'op')}` : ''}`;
    const hit = drawn('rect', { ...place, class: row === picked ? 'hit picked' : 'hit', y: top, height: height - top - bottom, onclick: () => onPick(row), 'data-column': row }, drawn('title', {}, title));
    return [...parts, hit];
  });
  const axis = [drawn('line', { x1: left, x2: width - right, y1: y(0), y2: y(0) }), drawn('text', { x: left - 6, y: y(0) + 4, 'text-anchor': 'end' }, '0'),
    drawn('text', { x: left, y: height - 6 }, isByTime ? sinceText(spans[0][1]) : memoryLabel(spans[0][0])),
    drawn('text', { x: width - right, y: height - 6, 'text-anchor': 'end' }, isByTime ? sinceText(spans.at(-1)[2]) : memoryLabel(spans.at(-1)[0]))];
  const line = limit === null ? [] : [drawn('line', { class: 'limit', x1: left, x2: width - right, y1: y(limit), y2: y(limit), 'data-capacity': limit }), drawn('text', { x: left - 6, y: y(limit) + 4, 'text-anchor': 'end' }, grouped(limit))];
  picture.replaceChildren(...axis, ...bars, ...line);
}

/** What each colour is, with its bytes during an op. */
function memoryLegend(name, row) {
  return MEMORIES[name].classes.map((one) => {
    const bytes = one.bytes(row), swatch = h('i.swatch');
    swatch.style.backgroundColor = memoryColour(one);
    return h('span', { 'data-class': one.key }, swatch, `${one.label} `, h('strong', {}, bytes === null ? 'unknown' : grouped(bytes)));
  });
}

/** The addresses of L1 on some cores, from 0 to its end, with what is at each. */
function drawAddresses(ranges, row) {
  const width = 1000, height = 34, whole = memoryOps.capacity[row] ?? maximum(ranges.map((range) => range.start + range.size));
  const x = (address) => address / whole * width;
  const map = drawn('svg', { class: 'addresses', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Addresses of L1' }, drawn('rect', { class: 'free', x: 0, y: 0, width, height }));
  const order = { reserved: 0, buffers: 1, outlived: 1, 'circular-buffers': 2, kernels: 2 };
  const byClass = ranges.map((range) => [range, L1_CLASSES.find((one) => one.key === classOfRange(range, row))]).sort((one, other) => order[one[1].key] - order[other[1].key]);
  for (const [range, one] of byClass) {
    const words = [rangeText(range), range.content, range.owner].filter((text) => text !== null).join(', ');
    map.append(drawn('rect', { x: x(range.start), width: Math.max(0.5, x(range.size)), y: order[one.key] === 2 ? 6 : 0, height: order[one.key] === 2 ? height - 12 : height, fill: memoryColour(one), 'data-class': one.key, 'data-start': range.start, 'data-size': range.size },
      drawn('title', {}, `${grouped(range.start)} to ${grouped(range.start + range.size)}: ${words}`)));
  }
  return map;
}
