// The host: each of its threads is a lane of nanoseconds, laid out as chips are.

/** A thread's zones, and its messages, signposts and frames. */
class HostLane extends Lane {
  constructor(columns, host, index) {
    super(columns, host, index);
    this.zoneTexts = new Map();
    const texts = columns.rising(new Float64Array(columns.number()));
    texts.forEach((zone) => this.zoneTexts.set(zone, visible(columns.text())));
    this.pointColors = readColors(columns);
    this.zoneColors = readColors(columns);
  }
}

/** Colours that the program gave, by the number of the point or zone. */
function readColors(columns) {
  const entries = columns.rising(new Float64Array(columns.number()));
  return new Map(Array.from(entries, (entry) => [entry, `#${columns.number().toString(16).padStart(6, '0')}`]));
}

/** The host as a chip whose cycles are nanoseconds and whose cores are threads. */
class Host extends Device {
  constructor({ threads, plots, origin_ns, ...rest }, index) {
    const each = threads.label.map((_, thread) => thread);
    super({
      ...rest, arch: '', first_cycle: origin_ns, clock: { frequency_ghz: 1 }, knots: [[0, 0], [spanNs, spanNs]], cores: each,
      lanes: { core: each, risc: each, zones: threads.zones, points: threads.points, levels: threads.levels },
    }, index);
    this.isHost = true;
    this.threadLabels = threads.label.map(visible);
    this.plots = plots.map((plot) => ({ ...plot, name: visible(plot.name) }));
    this.openedPlots = new Map();
  }
  get label() { return 'host'; }
  coreLabel(core) { return this.threadLabels[core]; }
  laneLabel(lane) { return this.threadLabels[lane]; }
  laneTitle(lane) { return this.threadLabels[lane]; }
  hueOf() { return 300; }
  async open(core) { return [new HostLane(await columnsOf(`host-${core}`), this, core)]; }

  /** Times and values of a plot once they are there; opens them otherwise. */
  plotPoints(plot, onOpened) {
    if (!this.openedPlots.has(plot)) {
      this.openedPlots.set(plot, null);
      columnsOf(`plot-${plot}`).then((columns) => {
        this.openedPlots.set(plot, readPlot(columns, this.plots[plot].points));
        onOpened();
      });
    }
    return this.openedPlots.get(plot);
  }
}

function readPlot(columns, count) {
  const times = columns.rising(new Float64Array(count));
  const bits = BigUint64Array.from({ length: count }, () => columns.exact());
  return { times, values: new Float64Array(bits.buffer) };
}

/** Its number follows those of the chips. */
const host = facts.host && new Host(facts.host, devices.length);
/** What the timeline shows, from top to bottom. */
const tracks = host ? [host, ...devices] : devices;

if (host) {
  const { zones } = facts.host;
  zones.name
    .map((name, row) => [name, zones.self_ns[row]])
    .sort((one, other) => other[1] - one[1])
    .forEach(([name], rank) => hueOfName.set(name, HUES[rank % HUES.length]));
}

/** A plot as a line within its row, from the least to the largest value. */
function drawPlot({ surface, row, y, width, palette, scale, onOpened }) {
  const { name, least, most } = host.plots[row.plot];
  label(surface, cutLabel(surface, name), y + row.height / 2, palette);
  surface.fillStyle = palette.line;
  surface.fillRect(GUTTER, y + row.height - 1, width - GUTTER, 1);
  surface.clip();
  const points = host.plotPoints(row.plot, onOpened);
  if (!points) { scene.isWhole = false; return; }
  const { times, values } = points;
  const height = (value) => y + row.height - 4 - (value - least) / (most - least || 1) * (row.height - 9);
  surface.strokeStyle = markOf(host.hueOf());
  surface.lineWidth = 1.5;
  surface.beginPath();
  const last = Math.min(times.length, partitionPoint(times.length, (i) => times[i] > scale.last) + 1);
  let pen = null;
  for (let i = Math.max(0, partitionPoint(times.length, (i) => times[i] >= scale.first) - 1); i < last; i++) {
    if (!Number.isFinite(values[i])) continue;
    const x = scale.x(times[i]);
    // Of the points within a pixel the least, the largest and the last are enough.
    if (pen && Math.floor(x) === pen.pixel && values[i] >= pen.least && values[i] <= pen.most) continue;
    if (!pen || Math.floor(x) !== pen.pixel) pen = { pixel: Math.floor(x), least: values[i], most: values[i] };
    pen.least = Math.min(pen.least, values[i]);
    pen.most = Math.max(pen.most, values[i]);
    surface.lineTo(x, height(values[i]));
  }
  surface.stroke();
}

/** The point of a plot at or before a time. */
function plotPointAt(plot, ns) {
  const points = host.openedPlots.get(plot);
  const point = points ? partitionPoint(points.times.length, (i) => points.times[i] > ns) - 1 : -1;
  return point < 0 ? null : { plot, time: points.times[point], value: points.values[point] };
}
