// The timeline's rows, and how they are drawn: only what is in sight, and of what is finer
// than a pixel only how much of the pixel it fills.

const GUTTER = 124, RULER = 24, OP_HEIGHT = 24, HEAD_HEIGHT = 22, LEVEL_HEIGHT = 17, STRIP_HEIGHT = 4, PLOT_HEIGHT = 34;
const FONT = '11px system-ui, sans-serif';

const scene = {
  view: { ...home }, rows: [], height: 0, expanded: new Set(),
  selected: null, hovered: null, highlight: null, measure: null,
};

const coreKey = (device, core) => device * 65536 + core;
const lossesOfLane = new Map();
facts.losses.lane.forEach((place, index) => {
  if (!place) return;
  const key = place.join();
  lossesOfLane.set(key, [...(lossesOfLane.get(key) ?? []), index]);
});

/** What is missing, in words. */
function lossText(index) {
  const { losses } = facts;
  const kinds = [['zones', 'zone'], ['data', 'value'], ['events', 'event'], ['sums', 'sum'], ['unknown_markers', 'unknown marker']];
  const parts = kinds.filter(([key]) => losses[key][index]).map(([key, word]) => counted(losses[key][index], word));
  const words = parts.length ? listed(parts) : 'an unknown number of records';
  return `${losses.is_lower_bound[index] ? 'at least ' : ''}${words} ${losses.is_intended[index] ? 'omitted' : 'lost'}: ${losses.cause[index]}`;
}

/** Puts every row in its place. */
function layRows() {
  const rows = [];
  let y = 0;
  const push = (row) => { rows.push({ ...row, y }); y += row.height; };
  for (const device of tracks) {
    if (tracks.length > 1) push({ kind: 'device', device, height: HEAD_HEIGHT });
    const levels = device.opIndices.reduce((most, op) => Math.max(most, ops.row[op] + 1), 0);
    if (levels) push({ kind: 'ops', device, height: levels * OP_HEIGHT + 6 });
    device.cores.forEach((_, core) => {
      const lanes = device.lanesOfCore[core];
      if (!scene.expanded.has(coreKey(device.index, core))) {
        push({ kind: 'core', device, core, height: Math.max(20, lanes.length * (STRIP_HEIGHT + 1) + 6) });
        return;
      }
      if (!device.isHost) push({ kind: 'head', device, core, height: HEAD_HEIGHT });
      for (const lane of lanes) {
        push({ kind: 'lane', device, core, lane, height: Math.max(1, device.lanes.levels[lane]) * LEVEL_HEIGHT + (device.lanes.points[lane] ? 9 : 0) + 6 });
      }
    });
    if (device.isHost) device.plots.forEach((_, plot) => push({ kind: 'plot', device, plot, height: PLOT_HEIGHT }));
  }
  scene.rows = rows;
  scene.height = y;
}

/** The rows that a stretch of the height touches. */
function rowsBetween(top, bottom) {
  const first = Math.max(0, partitionPoint(scene.rows.length, (i) => scene.rows[i].y > top) - 1);
  const last = partitionPoint(scene.rows.length, (i) => scene.rows[i].y >= bottom);
  return scene.rows.slice(first, last);
}

/** How a chip's cycles fall on the width in view. */
function scaleOf(device, width) {
  const { start, span } = scene.view;
  const first = device.cycleAt(start), last = device.cycleAt(start + span);
  const perCycle = (width - GUTTER) / (last - first || 1);
  return { first, last, perCycle, x: (cycle) => GUTTER + (cycle - first) * perCycle };
}

function drawScene(surface, width, height, scrollTop, onOpened) {
  const palette = Object.fromEntries(['ink', 'muted', 'line', 'soft', 'paper', 'bad', 'accent', 'shade'].map((name) => [name, colour(name)]));
  scene.isWhole = true;
  surface.font = FONT;
  surface.textBaseline = 'middle';
  surface.save();
  surface.beginPath();
  surface.rect(0, RULER, width, height - RULER);
  surface.clip();
  drawBeyond(surface, width, height, palette);
  const scales = new Map(tracks.map((device) => [device, scaleOf(device, width)]));
  for (const row of rowsBetween(scrollTop, scrollTop + height - RULER)) {
    const y = RULER + row.y - scrollTop;
    const draw = { device: drawDevice, ops: drawOps, core: drawCore, head: drawHead, lane: drawLane, plot: drawPlot }[row.kind];
    surface.save();
    surface.beginPath();
    surface.rect(GUTTER, y, width - GUTTER, row.height);
    draw({ surface, row, y, width, palette, scale: scales.get(row.device), onOpened });
    surface.restore();
  }
  drawMeasure(surface, width, height, palette);
  surface.restore();
  drawRuler(surface, width, palette);
}

/** Shades what lies before the trace's begin and behind its end. */
function drawBeyond(surface, width, height, palette) {
  const { start, span } = scene.view;
  const x = (ns) => GUTTER + (ns - start) / span * (width - GUTTER);
  surface.fillStyle = palette.shade;
  if (x(0) > GUTTER) surface.fillRect(GUTTER, RULER, x(0) - GUTTER, height);
  if (x(spanNs) < width) surface.fillRect(x(spanNs), RULER, width - x(spanNs), height);
}

function rulerStep(span, pixels) {
  const least = span / Math.max(1, pixels / 110);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => power * factor >= least);
}

function drawRuler(surface, width, palette) {
  const { start, span } = scene.view;
  const isCycles = !unit.isTime && devices.length === 1;
  const rate = isCycles ? devices[0].ghz : 1;
  const step = rulerStep(span * rate, width - GUTTER);
  surface.fillStyle = palette.paper;
  surface.fillRect(0, 0, width, RULER);
  surface.fillStyle = palette.line;
  surface.fillRect(0, RULER - 1, width, 1);
  surface.textAlign = 'left';
  for (let at = Math.ceil((start - originNs) * rate / step) * step; at <= (start - originNs + span) * rate; at += step) {
    const x = Math.round(GUTTER + (at / rate + originNs - start) / span * (width - GUTTER));
    surface.fillStyle = palette.line;
    surface.fillRect(x, 14, 1, RULER - 14);
    surface.fillStyle = palette.muted;
    const place = Math.abs(at) < step / 2 ? 0 : at;
    const text = isCycles ? grouped(place) : rulerText(place, step);
    if (x + surface.measureText(text).width + 4 < width) surface.fillText(text, x + 4, 11);
  }
  surface.textAlign = 'right';
  surface.fillStyle = palette.muted;
  surface.fillText(isCycles ? 'cycles' : 'time', GUTTER - 10, 11);
}

function label(surface, text, y, palette, { isStrong = false, hue, indent = 0 } = {}) {
  surface.textAlign = 'left';
  surface.fillStyle = isStrong ? palette.ink : palette.muted;
  surface.font = isStrong ? `600 ${FONT}` : FONT;
  if (hue !== undefined) {
    surface.fillStyle = markOf(hue);
    surface.fillRect(indent + 8, y - 4, 3, 9);
    surface.fillStyle = palette.muted;
    indent += 8;
  }
  surface.fillText(text, indent + 8, y);
  surface.font = FONT;
}

/** A label, cut to the room that labels have. */
function cutLabel(surface, text) {
  const room = GUTTER - 16, width = surface.measureText(text).width;
  return width <= room ? text : `${text.slice(0, Math.max(1, Math.floor(text.length * room / width) - 1))}…`;
}

function drawDevice({ surface, row, y, width, palette }) {
  surface.fillStyle = palette.soft;
  surface.fillRect(0, y, width, row.height);
  label(surface, `${row.device.label} ${row.device.arch}`, y + row.height / 2, palette, { isStrong: true });
}

const textWidths = new Map();
/** Text inside of a box, cut to what fits. */
function boxText(surface, text, x, y, room, ink) {
  if (room < 26) return;
  if (!textWidths.has(text)) textWidths.set(text, surface.measureText(text).width);
  const fit = Math.floor((room - 8) / textWidths.get(text) * text.length);
  if (fit < 4) return;
  surface.fillStyle = ink;
  surface.textAlign = 'left';
  surface.fillText(text.length > fit ? `${text.slice(0, fit - 2)}…` : text, x + 4, y);
}

function drawOps({ surface, row, y, width, palette, scale }) {
  label(surface, 'ops', y + OP_HEIGHT / 2 + 1, palette, { isStrong: true });
  surface.clip();
  const { device } = row;
  for (const op of device.opIndices) if (hasLostLaunches(op)) drawLostLaunches(surface, op, scale, y, row.height, palette);
  let lastPixel = [];
  for (const op of device.opIndices) {
    const x0 = Math.max(scale.x(ops.start_cycles[op]), GUTTER - 4);
    const x1 = Math.min(scale.x(ops.start_cycles[op] + ops.drawn_cycles[op]), width + 4);
    if (x1 < GUTTER || x0 > width) continue;
    const level = ops.row[op];
    // Many ops within a pixel look like one.
    if (x1 - x0 < 1 && lastPixel[level] === Math.floor(x0)) continue;
    lastPixel[level] = Math.floor(x0);
    const top = y + 2 + level * OP_HEIGHT, room = Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0));
    surface.fillStyle = fillOf(opHue(op), hasHostNames ? 0.085 : 0.04);
    surface.fillRect(x0, top, room, OP_HEIGHT - 3);
    boxText(surface, opLabel(op), Math.max(x0, GUTTER), top + OP_HEIGHT / 2 - 1, x1 - Math.max(x0, GUTTER), palette.ink);
    if (ops.lost_records[op]) {
      surface.fillStyle = palette.bad;
      surface.fillRect(x0, top, room, 2);
    }
    if (scene.selected?.op === op) outline(surface, x0, top, room, OP_HEIGHT - 3, palette);
  }
  surface.fillStyle = palette.line;
  surface.fillRect(0, y + row.height - 1, width, 1);
}

/** Hatches the gap before an op in which launches may be missing. */
function drawLostLaunches(surface, op, scale, y, height, palette) {
  const before = opBefore(op);
  const x1 = scale.x(ops.start_cycles[op]);
  const x0 = before < 0 ? Math.max(GUTTER, x1 - 14) : Math.min(scale.x(ops.start_cycles[before] + ops.drawn_cycles[before]), x1 - 3);
  if (x1 < GUTTER) return;
  surface.save();
  surface.beginPath();
  surface.rect(Math.max(x0, GUTTER), y, x1 - Math.max(x0, GUTTER), height);
  surface.clip();
  surface.strokeStyle = palette.bad;
  surface.lineWidth = 1.5;
  surface.beginPath();
  for (let x = Math.max(x0, GUTTER) - height; x < Math.min(x1, 8192); x += 6) { surface.moveTo(x, y + height); surface.lineTo(x + height, y); }
  surface.stroke();
  surface.restore();
  boxText(surface, 'launches may be missing', Math.max(x0, GUTTER), y + OP_HEIGHT / 2 - 1, x1 - Math.max(x0, GUTTER), palette.bad);
}

function outline(surface, x, y, width, height, palette) {
  surface.strokeStyle = palette.accent;
  surface.lineWidth = 2;
  surface.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
}

function drawCore({ surface, row, y, palette, scale, width, onOpened }) {
  const { device, core } = row;
  label(surface, cutLabel(surface, `▸ ${device.coreLabel(core)}`), y + row.height / 2, palette);
  surface.fillStyle = palette.line;
  surface.fillRect(GUTTER, y + row.height - 1, width - GUTTER, 1);
  const lanes = openedLanes(device, core, onOpened);
  surface.clip();
  lanes.forEach((lane, i) => {
    const top = y + 3 + i * (STRIP_HEIGHT + 1);
    const depth = Math.min(1, lane.levels.length - 1);
    if (depth >= 0) drawLevel(surface, lane, depth, scale, top, STRIP_HEIGHT, width, () => markOf(device.hueOf(lane.index)));
    drawLosses(surface, lane, scale, top, STRIP_HEIGHT, palette);
  });
}

/** The lanes of a core as far as they are there; the scene is drawn again once they are. */
function openedLanes(device, core, onOpened) {
  const lanes = device.coreLanes(core, onOpened);
  if (!lanes) scene.isWhole = false;
  return lanes ?? [];
}

function drawHead({ surface, row, y, width, palette }) {
  surface.fillStyle = palette.soft;
  surface.fillRect(0, y, width, row.height);
  label(surface, `▾ ${row.device.coreLabel(row.core)}`, y + row.height / 2, palette, { isStrong: true });
}

function drawLane({ surface, row, y, width, palette, scale, onOpened }) {
  const { device, core } = row;
  const hue = device.hueOf(row.lane);
  if (device.isHost) label(surface, cutLabel(surface, `▾ ${device.laneTitle(row.lane)}`), y + LEVEL_HEIGHT / 2 + 2, palette);
  else label(surface, device.laneTitle(row.lane), y + LEVEL_HEIGHT / 2 + 2, palette, { hue, indent: 12 });
  surface.fillStyle = palette.line;
  surface.fillRect(GUTTER, y + row.height - 1, width - GUTTER, 1);
  const lane = openedLanes(device, core, onOpened).find((lane) => lane.index === row.lane);
  surface.clip();
  if (!lane) return;
  const top = y + 3 + (lane.pointNames.length ? 9 : 0);
  for (let depth = 0; depth < lane.levels.length; depth++) {
    drawLevel(surface, lane, depth, scale, top + depth * LEVEL_HEIGHT, LEVEL_HEIGHT - 1, width,
      (zone) => zoneFill(lane.names[zone], hue), palette);
  }
  drawPoints(surface, lane, scale, y + 3, palette);
  drawLosses(surface, lane, scale, y + 2, row.height - 4, palette);
}

/** The zones of one level: those wider than a pixel one by one, the others pixel by pixel. */
function drawLevel(surface, lane, depth, scale, top, height, width, fill, palette) {
  const { zones, before } = lane.levels[depth];
  const cyclesPerPixel = 1 / scale.perCycle;
  let place = Math.max(0, lane.placeAt(depth, scale.first));
  while (place < zones.length) {
    const zone = zones[place];
    const start = lane.starts[zone];
    if (start > scale.last) break;
    const x0 = scale.x(start), x1 = scale.x(lane.end(zone));
    if (x1 - x0 >= 1.5) {
      if (x1 >= GUTTER) drawZone(surface, lane, zone, Math.max(x0, GUTTER - 4), Math.min(x1, width + 4), top, height, fill, palette);
      place++;
      continue;
    }
    const pixel = Math.floor(x0);
    const limit = scale.first + (pixel + 1 - GUTTER) * cyclesPerPixel;
    let next = place + 1;
    if (next < zones.length && lane.starts[zones[next]] < limit) {
      next = partitionPoint(zones.length, (i) => lane.starts[zones[i]] >= limit);
      // Only the last zone that begins in this pixel can reach out of it.
      const last = zones[next - 1];
      if (next - 1 > place && scale.x(lane.end(last)) - scale.x(lane.starts[last]) >= 1.5) next--;
    }
    const filled = Math.min(1, (before[next] - before[place]) * scale.perCycle);
    const shown = speaker(lane, zones, place, next);
    surface.globalAlpha = dimming(lane, shown) * (0.3 + 0.7 * filled);
    surface.fillStyle = fill(shown);
    surface.fillRect(pixel, top, 1, height);
    surface.globalAlpha = 1;
    place = next;
  }
}

const isDimmed = (lane, zone) => scene.highlight !== null && !scene.highlight.has(lane.names[zone]);
const dimming = (lane, zone) => isDimmed(lane, zone) ? 0.22 : 1;

/** Which zone of those within a pixel stands for them: a highlighted one, else the one in the middle. */
function speaker(lane, zones, place, next) {
  if (scene.highlight) {
    for (let i = place; i < Math.min(next, place + 64); i++) if (!isDimmed(lane, zones[i])) return zones[i];
  }
  return zones[(place + next) >> 1] ?? zones[place];
}

/** The colour of a zone that is open: nobody knows where it ends, so it fades away. */
function fading(surface, x0, x1, colour) {
  const gradient = surface.createLinearGradient(x0, 0, x1, 0);
  gradient.addColorStop(0, colour);
  gradient.addColorStop(1, 'transparent');
  return gradient;
}

function drawZone(surface, lane, zone, x0, x1, top, height, fill, palette) {
  const room = Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 1 : 0));
  surface.globalAlpha = dimming(lane, zone);
  surface.fillStyle = lane.open.has(zone) ? fading(surface, x0, x1, fill(zone)) : fill(zone);
  surface.fillRect(x0, top, room, height);
  if (palette) {
    if (lane.open.has(zone)) {
      surface.fillStyle = palette.bad;
      surface.fillRect(x0, top, Math.min(2, room), height);
    }
    const own = lane.zoneColors?.get(zone);
    if (own) {
      surface.fillStyle = own;
      surface.fillRect(x0, top, Math.min(3, room), height);
    }
    const left = Math.max(x0, GUTTER);
    boxText(surface, names.label[lane.names[zone]], left, top + height / 2 + 0.5, x1 - left, palette.ink);
  }
  surface.globalAlpha = 1;
  const { selected, hovered } = scene;
  const is = (other) => other && other.zone === zone && other.lane === lane;
  if (palette && is(selected)) outline(surface, x0, top, room, height, palette);
  else if (palette && is(hovered)) {
    surface.strokeStyle = palette.ink;
    surface.lineWidth = 1;
    surface.strokeRect(x0 + 0.5, top + 0.5, Math.max(room - 1, 1), height - 1);
  }
}

/** Events, signposts and frames as diamonds, values as ticks, sums and messages as rings, above a lane's zones. */
function drawPoints(surface, lane, scale, top, palette) {
  const times = lane.pointTimes;
  let lastPixel = -1;
  for (let i = partitionPoint(times.length, (p) => times[p] >= scale.first); i < times.length && times[i] <= scale.last; i++) {
    const x = scale.x(times[i]);
    if (Math.floor(x) === lastPixel) continue;
    lastPixel = Math.floor(x);
    surface.fillStyle = scene.selected?.point === i && scene.selected.lane === lane ? palette.accent : lane.pointColors?.get(i) ?? palette.muted;
    surface.beginPath();
    if (lane.pointKinds[i] === 1) surface.rect(x - 0.75, top, 1.5, 7);
    else if ([0, 4, 5].includes(lane.pointKinds[i])) {
      surface.moveTo(x, top); surface.lineTo(x + 3.5, top + 3.5); surface.lineTo(x, top + 7); surface.lineTo(x - 3.5, top + 3.5);
    } else surface.arc(x, top + 3.5, 3, 0, 2 * Math.PI);
    surface.fill();
  }
}

/** Losses as red marks where they happened. */
function drawLosses(surface, lane, scale, top, height, palette) {
  for (const index of lossesOfLane.get(`${lane.device.index},${lane.index}`) ?? []) {
    const x = scale.x(lane.device.cycleAt(facts.losses.time_ns[index]));
    surface.fillStyle = facts.losses.is_intended[index] ? palette.muted : palette.bad;
    surface.fillRect(x - 1.5, top, 3, height);
  }
}

function drawMeasure(surface, width, height, palette) {
  if (!scene.measure) return;
  const { start, span } = scene.view;
  const [from, to] = [...scene.measure].sort((a, b) => a - b);
  const x = (ns) => GUTTER + (ns - start) / span * (width - GUTTER);
  surface.globalAlpha = 0.14;
  surface.fillStyle = palette.accent;
  surface.fillRect(Math.max(GUTTER, x(from)), RULER, x(to) - Math.max(GUTTER, x(from)), height);
  surface.globalAlpha = 1;
  surface.fillStyle = palette.accent;
  for (const edge of [from, to]) if (x(edge) >= GUTTER) surface.fillRect(x(edge), RULER, 1, height);
  const text = devices.length === 1 ? bothText((to - from) * devices[0].ghz) : timeText(to - from);
  const room = surface.measureText(text).width + 12;
  const middle = Math.min(Math.max((x(from) + x(to)) / 2, GUTTER + room / 2), width - room / 2);
  surface.fillStyle = palette.paper;
  surface.fillRect(middle - room / 2, RULER + 6, room, 18);
  surface.fillStyle = palette.ink;
  surface.textAlign = 'center';
  surface.fillText(text, middle, RULER + 15);
}

/** What lies under a place of the canvas. */
function hitAt(x, y, width, scrollTop) {
  if (y < RULER) return null;
  const top = y - RULER + scrollTop;
  const row = scene.rows[partitionPoint(scene.rows.length, (i) => scene.rows[i].y > top) - 1];
  if (!row || top > row.y + row.height) return null;
  const { device, core } = row;
  if (row.kind === 'plot') return plotPointAt(row.plot, device.cycleAt(scene.view.start) + (x - GUTTER) / scaleOf(device, width).perCycle);
  if (x < GUTTER || row.kind === 'head') return row.core === undefined ? null : { device, core };
  const scale = scaleOf(device, width);
  const cycle = scale.first + (x - GUTTER) / scale.perCycle;
  if (row.kind === 'ops') {
    const level = Math.floor((top - row.y - 2) / OP_HEIGHT);
    const near = 2 / scale.perCycle;
    const op = device.opIndices.find((op) => ops.row[op] === level && cycle >= ops.start_cycles[op] - near
      && cycle <= ops.start_cycles[op] + ops.drawn_cycles[op] + near);
    if (op !== undefined) return { op };
    const after = device.opIndices.find((op) => ops.start_cycles[op] >= cycle);
    return after !== undefined && hasLostLaunches(after) ? { lostBefore: after } : null;
  }
  if (row.kind === 'core') return { device, core };
  return row.kind === 'lane' ? hitInLane(row, top - row.y - 3, cycle, scale) : null;
}

function hitInLane(row, y, cycle, scale) {
  const lane = row.device.opened.get(row.core)?.find((lane) => lane.index === row.lane);
  if (!lane) return null;
  const near = 4 / scale.perCycle;
  const loss = (lossesOfLane.get(`${lane.device.index},${lane.index}`) ?? [])
    .find((index) => Math.abs(lane.device.cycleAt(facts.losses.time_ns[index]) - cycle) <= near);
  if (loss !== undefined) return { lane, loss };
  const times = lane.pointTimes;
  if (times.length && y < 9) {
    const next = partitionPoint(times.length, (i) => times[i] >= cycle);
    const point = [next - 1, next].filter((i) => Math.abs(times[i] - cycle) <= near)
      .sort((a, b) => Math.abs(times[a] - cycle) - Math.abs(times[b] - cycle))[0];
    return point === undefined ? null : { lane, point };
  }
  const depth = Math.floor((y - (times.length ? 9 : 0)) / LEVEL_HEIGHT);
  const zone = lane.zoneAt(depth, cycle);
  return zone < 0 ? null : { lane, zone };
}
