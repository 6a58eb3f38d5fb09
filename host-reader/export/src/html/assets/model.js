// What the page knows: the facts, the lanes as they are opened, units, colours.

const facts = JSON.parse(document.getElementById('facts').textContent);
const { ops, names } = facts;
facts.title = visible(facts.title);
names.label = names.label.map(visible);
names.file = names.file.map(visible);
ops.name = ops.name.map((name) => visible(name ?? ''));
/** Kernels of an op by the RISC's number: columns of their own, then the processors of a Quasar. */
ops.risc_kernel_cycles = ops.processor_kernel_cycles.map((processors, op) =>
  [...['brisc', 'ncrisc', 'trisc0', 'trisc1', 'trisc2', 'erisc'].map((risc) => ops[`${risc}_kernel_cycles`][op]), ...processors]);
const coreKernels = (op) => [ops.core_kernel_min_cycles[op], ops.core_kernel_median_cycles[op], ops.core_kernel_max_cycles[op]];
const opCount = ops.program.length;
/** Columns of losses that count records. */
const LOST_KINDS = ['zones', 'data', 'events', 'sums', 'unknown_markers'];
const lostRecords = (losses, i) => LOST_KINDS.reduce((sum, kind) => sum + losses[kind][i], 0);
// A Quasar's are behind these: DM0, N1T2.
const RISC_SHORT = facts.riscs.map((label, risc) => ['BR', 'NC', 'T0', 'T1', 'T2', 'ER', 'AGG'][risc] || label.replace(/^QUASAR_(NEO(\d)_TRISC)?/, (_, neo, number) => (neo ? `N${number}T` : '')));
const KIND_WORDS = ['event', 'value', 'sum', 'message', 'signpost', 'frame'];

/** Index of the first entry of `count` for which `isPast` holds; they must come last. */
function partitionPoint(count, isPast) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isPast(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Device {
  constructor(device, index) {
    Object.assign(this, device);
    this.index = index;
    this.ghz = this.clock.frequency_ghz || 1;
    this.opIndices = [];
    this.lanesOfCore = this.cores.map(() => []);
    this.lanes.core.forEach((core, lane) => this.lanesOfCore[core].push(lane));
    this.opened = new Map();
    this.opBlocks = new Map();
  }
  get label() { return `device ${this.chip_id}`; }
  coreLabel(core) { return this.cores[core].join('-'); }
  laneLabel(lane) { return `${this.coreLabel(this.lanes.core[lane])} ${facts.riscs[this.lanes.risc[lane]]}`; }
  /** What is written beside a lane. */
  laneTitle(lane) { return facts.riscs[this.lanes.risc[lane]]; }
  hueOf(lane) { return RISC_HUES[this.lanes.risc[lane]]; }

  /** Nanoseconds since the trace's origin at a cycle since the chip's first. */
  nsAt(cycle) { return this.along(cycle, 0, 1); }
  /** The cycle at a time. */
  cycleAt(ns) { return this.along(ns, 1, 0); }
  along(value, from, to) {
    const { knots } = this;
    const next = partitionPoint(knots.length, (i) => knots[i][from] > value);
    const right = knots[Math.min(Math.max(next, 1), knots.length - 1)];
    const left = knots[knots.indexOf(right) - 1];
    const span = right[from] - left[from] || 1;
    return left[to] + (value - left[from]) * (right[to] - left[to]) / span;
  }

  /** The lanes of a core once they are there; opens them otherwise. */
  coreLanes(core, onOpened) {
    const known = this.opened.get(core);
    if (known === undefined) {
      this.opened.set(core, null);
      this.open(core).then((lanes) => { this.opened.set(core, lanes); onOpened(); });
    }
    return known ?? null;
  }
  async coreLanesSoon(core) {
    const known = this.opened.get(core);
    if (known) return known;
    const lanes = await this.open(core);
    this.opened.set(core, lanes);
    return lanes;
  }
  async open(core) {
    const columns = await columnsOf(`core-${this.index}-${core}`);
    return this.lanesOfCore[core].map((lane) => new Lane(columns, this, lane));
  }

  /** What an op of this chip, counted from its first, took on each core. */
  async opCells(number) {
    const block = Math.floor(number / 256);
    if (!this.opBlocks.has(block)) {
      const count = Math.min(256, this.opIndices.length - block * 256);
      this.opBlocks.set(block, columnsOf(`ops-${this.index}-${block}`)
        .then((columns) => Array.from({ length: count }, () => readOpCells(columns))));
    }
    return (await this.opBlocks.get(block))[number % 256];
  }
}

function readOpCells(columns) {
  const cores = new Map();
  for (let left = columns.number(), core = 0; left > 0; left--) {
    core += columns.number();
    const mask = columns.number(), start = columns.signed(), riscs = [];
    let end = 0;
    for (let risc = 0; risc < facts.riscs.length; risc++) {
      if (!(mask & (1 << risc))) continue;
      const offset = columns.number(), cycles = columns.number();
      riscs[risc] = cycles;
      end = Math.max(end, offset + cycles);
    }
    cores.set(core, { start, cycles: end, riscs });
  }
  const fields = Array.from({ length: columns.number() }, () => [visible(columns.text()), visible(columns.text())]);
  const zones = Array.from({ length: columns.number() }, () => ({
    name: columns.number(), risc: columns.number(), count: columns.number(), open: columns.number(), total: columns.number(), self: columns.number(),
    most: columns.number(), unknown: columns.number() - 1, lane: columns.number(), zone: columns.number(),
  }));
  for (const row of zones) {
    if (row.unknown < 0) row.unknown = null;
    if (!row.count) row.self = null;
  }
  return { cores, fields, zones };
}

/** The zones and points of one RISC, in cycles since the chip's first. */
class Lane {
  constructor(columns, device, index) {
    this.device = device;
    this.index = index;
    const zones = columns.number(), points = columns.number(), runs = columns.number();
    this.names = columns.fill(new Uint32Array(zones));
    this.starts = columns.rising(new Float64Array(zones));
    this.durations = columns.fill(new Float64Array(zones));
    this.depths = columns.fill(new Uint16Array(zones));
    this.runs = new Int32Array(zones);
    for (let i = 0, run = 0; i < zones; i++) this.runs[i] = (run += columns.signed()) - 1;
    /** Zones whose end is not recorded; they are drawn to the end of the zone or run around them. */
    this.open = new Set(columns.rising(new Float64Array(columns.number())));
    const clipped = columns.rising(new Float64Array(columns.number()));
    this.recorded = new Map();
    clipped.forEach((zone) => this.recorded.set(zone, columns.number()));
    this.runOps = new Int32Array(runs);
    for (let run = 0; run < runs; run++) this.runOps[run] = columns.number() - 1;
    this.readPoints(columns, points);
    this.layLevels();
  }
  readPoints(columns, count) {
    this.pointKinds = columns.fill(new Uint8Array(count));
    this.pointNames = columns.fill(new Uint32Array(count));
    this.pointTimes = columns.rising(new Float64Array(count));
    this.pointValues = Array.from({ length: count },
      () => Array.from({ length: columns.number() }, () => columns.exact()));
    const texts = columns.rising(new Float64Array(columns.number()));
    this.pointTexts = new Map();
    texts.forEach((point) => this.pointTexts.set(point, visible(columns.text())));
  }
  /** For each level its zones in order, and the cycles of all before each. */
  layLevels() {
    const counts = [];
    for (const depth of this.depths) counts[depth] = (counts[depth] ?? 0) + 1;
    this.levels = Array.from(counts, (count) => ({
      zones: new Uint32Array(count ?? 0), before: new Float64Array((count ?? 0) + 1), filled: 0,
    }));
    for (let zone = 0; zone < this.depths.length; zone++) {
      const level = this.levels[this.depths[zone]];
      level.before[level.filled + 1] = level.before[level.filled] + this.durations[zone];
      level.zones[level.filled++] = zone;
    }
  }
  end(zone) { return this.starts[zone] + this.durations[zone]; }
  /** The duration as recorded; null if the end is not recorded. */
  cycles(zone) { return this.open.has(zone) ? null : this.recorded.get(zone) ?? this.durations[zone]; }
  opOf(zone) {
    const op = this.runOps[this.runs[zone]] ?? -1;
    return op < 0 ? -1 : this.device.opIndices[op];
  }
  /** Place in its level of the last zone that begins at or before a cycle; -1 before all. */
  placeAt(depth, cycle) {
    const zones = this.levels[depth]?.zones;
    return zones ? partitionPoint(zones.length, (i) => this.starts[zones[i]] > cycle) - 1 : -1;
  }
  placeOf(zone) {
    const { zones } = this.levels[this.depths[zone]];
    return partitionPoint(zones.length, (i) => zones[i] >= zone);
  }
  zoneAt(depth, cycle) {
    const zone = this.levels[depth]?.zones[this.placeAt(depth, cycle)];
    return zone !== undefined && cycle <= this.end(zone) ? zone : -1;
  }
  parent(zone) {
    const depth = this.depths[zone];
    if (!depth) return -1;
    const { zones } = this.levels[depth - 1];
    return zones[partitionPoint(zones.length, (i) => zones[i] > zone) - 1] ?? -1;
  }
  /** The next zone of the same name in a direction; -1 if there is none. */
  sameName(zone, step) {
    for (let other = zone + step; other >= 0 && other < this.names.length; other += step) {
      if (this.names[other] === this.names[zone]) return other;
    }
    return -1;
  }
}

const devices = facts.devices.map((device, index) => new Device(device, index));
ops.device.forEach((device, op) => devices[device].opIndices.push(op));

const spanNs = Math.max(facts.span_ns, 1);
/** Where cycles and times count from: the first record of a chip, whatever the host did before. */
const originNs = Math.min(...devices.filter((device) => device.lanes.core.length).map((device) => device.nsAt(0)), spanNs);
/** A time of the trace, counted from that origin. */
const sinceText = (ns) => timeText(ns - originNs);
/** The stretch in which ops ran, with some room; everything if they fill most of it or there are none. */
const home = (() => {
  const start = ops.start_ns.reduce((a, b) => Math.min(a, b), Infinity), end = ops.end_ns.reduce((a, b) => Math.max(a, b), 0);
  const room = Math.max((end - start) * 0.02, 5);
  return !opCount || end - start > spanNs * 0.9 ? { start: 0, span: spanNs } : { start: start - room, span: end - start + 2 * room };
})();
const hasMoreThanHome = home.span < spanNs;
/** The op whose kernels took longest; -1 without ops. */
const slowestOp = ops.kernel_cycles.reduce((best, cycles, op) =>
  best < 0 || (cycles ?? -1) / devices[ops.device[op]].ghz > (ops.kernel_cycles[best] ?? -1) / devices[ops.device[best]].ghz ? op : best, -1);
const laneCount = devices.reduce((sum, device) => sum + device.lanes.core.length, 0);
const coreCount = devices.reduce((sum, device) => sum + device.cores.length, 0);
const hasHostNames = ops.name.some((name) => name);

/** The name for people: with the program's number, and the trace's if it was replayed. */
function opLabel(op) {
  const name = `${ops.name[op] || 'program'} ${ops.program[op]}`;
  return ops.trace_id[op] === null ? name : `${name} trace ${ops.trace_id[op]}.${ops.trace_replay[op]}`;
}
const opDevice = (op) => devices[ops.device[op]];
/** How long an op took; null where that is in doubt, though it is drawn as far as its records go. */
const durationOf = (op) => ops.duration_doubt[op] === null ? ops.drawn_cycles[op] : null;
const durationDoubt = (op) => ops.duration_doubt[op];
const gapDoubt = (op) => ops.latency_doubt[op];
/** True if launches may be missing in the gap before an op. */
const hasLostLaunches = (op) => ops.latency_doubt[op] !== null && ops.latency_doubt[op] === ops.lost_launches_doubt;
/** The op that ended last before this one began; -1 if there is none. */
function opBefore(op) {
  const { opIndices } = opDevice(op);
  for (let at = op - 1; at >= opIndices[0]; at--) if (ops.end_ns[at] <= ops.start_ns[op] + 1) return at;
  return -1;
}
/** An op's number among those of its chip. */
const opNumber = (op) => op - opDevice(op).opIndices[0];

// Units.
/** A duration of a chip in the unit that is chosen. */
function cyclesText(cycles, device = devices[0]) {
  if (cycles === null || cycles === undefined) return '';
  return unit.isTime || device?.isHost ? timeText(cycles / (device?.ghz ?? 1)) : grouped(cycles);
}
/** The same with its unit. */
const cyclesWords = (cycles, device) => cyclesText(cycles, device) + (unit.isTime || device?.isHost ? '' : ' cycles');
/** Both units. */
function bothText(cycles, device = devices[0]) {
  if (cycles === null) return '–';
  return device.isHost ? timeText(cycles) : `${grouped(cycles)} cycles · ${timeText(cycles / device.ghz)}`;
}

// Colours.
const HUES = [250, 65, 150, 335, 200, 100, 22, 292, 125, 225, 45, 175];
const RISC_HUES = facts.riscs.map((_, risc) => [62, 152, 250, 205, 275, 100, 200][risc] ?? (risc * 47) % 360);
const hueOfName = new Map();
/** Names with the most cycles of their own come first, so that they differ most. */
facts.zones.name
  .map((name, row) => [name, facts.zones.self_cycles[row]])
  .filter(([name]) => !names.is_frame[name])
  .sort((one, other) => (other[1] ?? 0) - (one[1] ?? 0))
  .forEach(([name], rank) => hueOfName.set(name, HUES[rank % HUES.length]));

/** A colour for a surface with text on it. */
const fillOf = (hue, chroma = 0.085) =>
  isDark.matches ? `oklch(0.47 ${chroma} ${hue})` : `oklch(0.82 ${chroma} ${hue})`;
const zoneFill = (name, hue) =>
  names.is_frame[name] ? fillOf(hue, 0.028) : fillOf(hueOfName.get(name) ?? 250);
const opNames = [...new Set(ops.name)];
const opHue = (op) => hasHostNames
  ? HUES[opNames.indexOf(ops.name[op]) % HUES.length]
  : HUES[ops.program[op] % HUES.length];
