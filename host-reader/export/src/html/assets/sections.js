// The tables: ops, zones, programs, clocks.

const openButton = (text, title) => h('button.open.link', { type: 'button', title, tabIndex: -1 }, text);

let opTable;

/** Kernels of an op's RISCs side by side, as shares of the whole. */
function riscBars(op) {
  const whole = ops.kernel_cycles[op];
  const words = [];
  const bars = ops.risc_kernel_cycles[op].map((cycles, risc) => {
    if (cycles === null) return null;
    words.push(`${facts.riscs[risc]} ${shareOfKnown(cycles, whole)}`);
    const fill = h('i');
    fill.style.width = whole ? `${Math.min(1, cycles / whole) * 100}%` : '0';
    fill.style.backgroundColor = markOf(RISC_HUES[risc]);
    return h('b', {}, fill);
  });
  // A Quasar has 24 processors, which thinner bars fit into a row.
  return h(`span.riscs${words.length > 6 ? '.many' : ''}`, { title: words.join(', '), role: 'img', 'aria-label': words.join(', ') }, bars);
}

/** The gap before an op; where it is not known, a mark that says why. */
const gapCell = (longestGap) => (op) => ops.op_to_op_latency_cycles[op] !== null
  ? withBar(cyclesText(ops.op_to_op_latency_cycles[op], opDevice(op)), ops.op_to_op_latency_cycles[op] / longestGap, 'quiet')
  : ops.latency_doubt[op] === null ? '–' : h('span.bad', { title: `Unknown: ${gapDoubt(op)}` }, hasLostLaunches(op) ? 'lost?' : 'unknown');

const hasCalls = ops.call_location.some((location) => location !== null) || ops.module.some((module) => module !== null);
/** Module, function and line that called an op, as far as they are known. */
const callOf = (op) => [ops.module[op], ops.call_function[op], ops.call_location[op]].filter((text) => text !== null).map(visible);

function buildOps() {
  const longest = maximum(ops.kernel_cycles), longestGap = maximum(ops.op_to_op_latency_cycles);
  const columns = [
    { label: 'Op', isText: true, width: '40%', title: 'A click on the name shows it in the timeline', value: (op) => opLabel(op), show: (op) => [openButton(opLabel(op), 'Show in the timeline'), ops.lost_records[op] ? h('span.bad', { title: `${counted(ops.lost_records[op], 'record')} lost` }, ' ◆') : ''] },
    hasCalls && { label: 'Called at', isText: true, width: '16%', isSpare: true, title: 'Line of the program that called it', value: (op) => ops.call_location[op] ?? '', show: (op) => h('span.place', { title: callOf(op).join('\n') }, ops.call_location[op] === null ? '–' : shortPath(visible(ops.call_location[op]))) },
    devices.length > 1 && { label: 'Dev', width: '48px', value: (op) => opDevice(op).chip_id, show: (op) => String(opDevice(op).chip_id) },
    { label: 'Start', width: '92px', title: 'Since the first record of a chip', value: (op) => ops.start_ns[op], show: (op) => unit.isTime || devices.length > 1 ? sinceText(ops.start_ns[op]) : grouped(ops.start_cycles[op]) },
    { label: 'Kernel', width: '20%', hasBar: true, title: 'First kernel start to last kernel end, over all cores', value: (op) => ops.kernel_cycles[op], show: (op) => withBar(cyclesText(ops.kernel_cycles[op], opDevice(op)), (ops.kernel_cycles[op] ?? 0) / longest) },
    { label: 'RISCs', width: '74px', isSpare: true, title: 'Kernel of each RISC as a share of the op, in the order of their names on the op\'s page', value: (op) => Math.max(...ops.risc_kernel_cycles[op].map((cycles) => cycles ?? 0)) / (ops.kernel_cycles[op] || 1), show: riscBars },
    { label: 'Gap before', width: '17%', hasBar: true, title: 'From the end of the kernel before to the start of this one', value: (op) => ops.op_to_op_latency_cycles[op], show: gapCell(longestGap) },
    ops.sub_device_id.some((id) => id !== null) && { label: 'Sub', width: '48px', title: 'Sub-device that it ran on', value: (op) => ops.sub_device_id[op], show: (op) => ops.sub_device_id[op] === null ? '–' : String(ops.sub_device_id[op]) },
    { label: 'Cores', width: '58px', value: (op) => ops.recorded_core_count[op], show: (op) => grouped(ops.recorded_core_count[op]) },
    { label: 'Imbalance', width: '82px', isSpare: true, title: 'The slowest core against the mean of all cores', value: (op) => ops.imbalance[op], show: (op) => ops.imbalance[op] === null ? '–' : `${ops.imbalance[op].toFixed(2)} ×` },
  ].filter(Boolean);
  opTable = new Table({
    label: 'Ops', columns, rows: upTo(opCount), noun: ['op'], placeholder: 'Filter ops', minWidth: 540, sort: { column: 1 + hasCalls + (devices.length > 1), isDown: false },
    search: (op) => [opLabel(op), opDevice(op).label, ...callOf(op)].join(' '), height: 446,
    onOpen: openOp, onPick: (op) => { pickOp(opTable.picked === op ? -1 : op); },
  });
  headOf('ops').append(opTable.count, h('span.tools', {}, opTable.filter));
  byId('ops').append(opTable.scroller);
}

/** The longest op of a group; -1 if no op has its name. */
const opOfGroup = (group) => upTo(opCount).filter((op) => ops.name[op] === group.op).reduce((best, op) => best < 0 || ops.kernel_cycles[op] > ops.kernel_cycles[best] ? op : best, -1);

/** Marks an op in the table, shows its page, and shows it on the grid; -1 shows the slowest and all. */
function pickOp(op) {
  opTable.pick(op);
  showOpPage(op < 0 ? slowestOp : op, op < 0);
  showOnGrid(op);
}

const distribution = (bars, title) => {
  const most = Math.max(...bars, 1);
  return h('span.distribution', { title, role: 'img', 'aria-label': title }, bars.map((count) => {
    const fill = h('i');
    fill.style.height = count ? `${Math.max(8, Math.sqrt(count / most) * 100)}%` : '0';
    return fill;
  }));
};

function swatch(name) {
  const mark = h('span.swatch', { 'aria-hidden': 'true' });
  mark.style.backgroundColor = names.is_frame[name] ? colour('line') : markOf(hueOfName.get(name) ?? 250);
  return mark;
}

function buildZones() {
  const { zones } = facts;
  const mostSelf = maximum(zones.self_cycles);
  const nameOf = (row) => zones.name[row];
  const cycles = (key, width, label, title) => ({ label, title, width, value: (row) => zones[key][row], show: (row) => zones[key][row] === null ? '–' : cyclesText(zones[key][row]) });
  const riscs = (row) => RISC_SHORT.filter((_, risc) => zones.risc_bits[row] & (1 << risc)).join(' ');
  const table = new Table({
    label: 'Zones by name', minWidth: 980, noun: ['name'], placeholder: 'Filter zones by name, file or RISC', rows: upTo(zones.name.length), sort: { column: 4, isDown: true },
    search: (row) => `${names.label[nameOf(row)]} ${names.file[nameOf(row)]}:${names.line[nameOf(row)]} ${riscs(row)}`,
    columns: [
      { label: 'Zone', isText: true, width: '20%', value: (row) => names.label[nameOf(row)], show: (row) => [swatch(nameOf(row)), openButton(names.label[nameOf(row)], 'Show the longest in the timeline')] },
      { label: 'Source', isText: true, width: '17%', value: (row) => `${names.file[nameOf(row)]}:${names.line[nameOf(row)]}`, show: (row) => h('span.place', { title: sourceText(nameOf(row)) }, names.file[nameOf(row)] ? `${shortPath(names.file[nameOf(row)])}:${names.line[nameOf(row)]}` : '–') },
      { label: 'RISCs', isText: true, width: '9%', value: riscs, show: riscs },
      { label: 'Count', width: zones.open_count.some(Boolean) ? '13%' : '7.5%', value: (row) => zones.count[row], title: 'Zones with a start and an end', show: (row) => [grouped(zones.count[row]), openCount(zones.open_count[row])] },
      { label: 'Self', width: '14%', title: 'Cycles that no zone inside covers, added up over all lanes', value: (row) => zones.self_cycles[row], show: (row) => zones.self_cycles[row] === null ? '–' : withBar(cyclesText(zones.self_cycles[row]), zones.self_cycles[row] / mostSelf, names.is_frame[nameOf(row)] ? 'quiet' : '') },
      cycles('total_cycles', '10%', 'Total', 'Cycles with those of zones inside, added up over all lanes'),
      cycles('min_cycles', '6.5%', 'Min', 'The shortest'), cycles('median_cycles', '6.5%', 'Median', 'Half of them are longer'),
      cycles('p99_cycles', '6.5%', '99 %', '99 of 100 are no longer'), cycles('max_cycles', '6.5%', 'Max', 'The longest'),
      { label: 'Spread', isText: true, width: '104px', title: 'How durations are spread from the shortest to the 99th percentile', value: (row) => zones.median_cycles[row] ? zones.p99_cycles[row] / zones.median_cycles[row] : 0, show: (row) => zones.count[row] === 0 ? '–' : distribution(zones.bars[row], `from ${cyclesText(zones.min_cycles[row])} to ${cyclesText(zones.p99_cycles[row])}, most often in bar ${zones.bars[row].indexOf(Math.max(...zones.bars[row])) + 1} of ${zones.bars[row].length}`) },
    ],
    onOpen: (row) => showZone(zones.longest[row]),
    onPick: (row) => {
      const isPicked = table.picked === row;
      table.pick(isPicked ? -1 : row);
      scene.highlight = isPicked ? null : new Set([nameOf(row)]);
      redraw();
    },
  });
  headOf('zones').append(table.count, h('span.muted.hint', {}, 'A row highlights its zones in the timeline; its name goes to the longest.'), h('span.tools', {}, table.filter));
  byId('zones').append(table.scroller, pointList());
}

function pointList() {
  const { points } = facts;
  if (!points.name.length) return '';
  const rows = upTo(points.name.length).map((row) => h('tr', {}, h('td', {}, names.label[points.name[row]]), h('td', {}, points.kind[row]),
    h('td.number', {}, grouped(points.count[row])), h('td.number', {}, points.total_cycles[row] === null ? '' : `${grouped(points.total_cycles[row])} cycles`)));
  return h('details', {}, h('summary', {}, `${counted(facts.point_count, 'event, value or sum', 'events, values and sums')} by name`), h('div.scroller', {}, h('table.plain', {},
    h('thead', {}, h('tr', {}, h('th', {}, 'Name'), h('th', {}, 'Kind'), h('th.number', {}, 'Count'), h('th.number', {}, 'Sum'))), h('tbody', {}, rows))));
}

/** Ops of one name, or of one program where the host gave no names. */
function buildKernels() {
  const groups = new Map();
  for (let op = 0; op < opCount; op++) {
    const key = ops.name[op] || `program ${ops.program[op]}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(op);
  }
  const section = byId('kernels');
  if (groups.size === opCount || !opCount) { section.hidden = true; return; }
  const inTime = (op) => (ops.kernel_cycles[op] ?? 0) / opDevice(op).ghz;
  const rows = [...groups].map(([key, members]) => {
    const cycles = members.map((op) => ops.kernel_cycles[op]).filter((c) => c !== null).sort((a, b) => a - b);
    const gaps = members.map((op) => ops.op_to_op_latency_cycles[op]).filter((c) => c !== null);
    const unknown = members.length - cycles.length, unknownGaps = members.filter((op) => ops.latency_doubt[op] !== null).length;
    const sumOf = (all) => all.length ? all.reduce((sum, c) => sum + c, 0) : null;
    return { key, members, unknown, unknownGaps, total: sumOf(cycles), ns: members.reduce((sum, op) => sum + inTime(op), 0), min: cycles[0] ?? null, median: cycles[cycles.length >> 1] ?? null, max: cycles.at(-1) ?? null,
      gap: sumOf(gaps), slowest: members.reduce((a, b) => inTime(b) > inTime(a) ? b : a) };
  });
  // Shares of a whole that is not known are none.
  const all = rows.some((row) => row.unknown) ? 0 : rows.reduce((sum, row) => sum + row.ns, 0);
  const atLeast = (isPart, text) => isPart && text ? `≥ ${text}` : text;
  const most = maximum(rows.map((row) => row.ns));
  const cycles = (key, label, title) => ({ label, title, width: '10%', value: (row) => rows[row][key], show: (row) => cyclesText(rows[row][key]) });
  const table = new Table({
    label: 'Programs', noun: ['program'], placeholder: 'Filter programs', rows: upTo(rows.length), sort: { column: 2, isDown: true }, height: 300,
    search: (row) => rows[row].key, onOpen: (row) => openOp(rows[row].slowest),
    columns: [
      { label: 'Program', isText: true, width: '26%', value: (row) => rows[row].key, show: (row) => openButton(rows[row].key, 'Show the slowest launch in the timeline') },
      { label: 'Launches', width: '9%', value: (row) => rows[row].members.length, show: (row) => [grouped(rows[row].members.length), rows[row].unknown ? h('span.bad', { title: 'Launches whose duration is not known; they are in no other figure' }, ` ${grouped(rows[row].unknown)} unknown`) : ''] },
      { label: 'Kernel, all', width: '17%', value: (row) => rows[row].ns, show: (row) => rows[row].total === null ? '–' : withBar(atLeast(rows[row].unknown, cyclesText(rows[row].total)), rows[row].ns / most) },
      { label: 'Share', width: '8%', value: (row) => rows[row].ns, show: (row) => shareOfKnown(rows[row].ns, all) },
      cycles('min', 'Fastest'), cycles('median', 'Median'), cycles('max', 'Slowest'), { ...cycles('gap', 'Gaps before', 'Gaps before its launches, added up'), show: (row) => atLeast(rows[row].unknownGaps, cyclesText(rows[row].gap)) },
    ],
  });
  headOf('kernels').append(table.count, h('span.tools', {}, table.filter));
  section.append(table.scroller);
}

function buildClocks() {
  const section = byId('clocks');
  const rows = devices.map((device) => {
    const { clock } = device;
    const measured = clock.is_host_time ? `${(clock.frequency_ghz * 1000).toFixed(4)} MHz` : 'not measured';
    const nominal = device.nominal_mhz ? `${device.nominal_mhz} MHz` : 'unknown';
    const off = clock.is_host_time && device.nominal_mhz ? `${((clock.frequency_ghz * 1000 / device.nominal_mhz - 1) * 1e6).toFixed(1)} ppm` : '–';
    const { fit } = clock;
    return [`${device.label} ${device.arch}`, nominal, measured, off, clock.bound_ns === null ? '–' : `± ${timeText(clock.bound_ns)}`,
      fit ? `${grouped(fit.ping_count)}${fit.rejected_ping_count + fit.unexplained_ping_count ? ` and ${grouped(fit.rejected_ping_count + fit.unexplained_ping_count)} left out` : ''}` : '–',
      fit && fit.frequency_range_ppm !== null ? `${fit.frequency_range_ppm.toFixed(3)} ppm` : '–', fit ? grouped(fit.step_count) : '–',
      fit ? `${grouped(fit.tile_count)} within ± ${fit.tile_bound_cycles?.toFixed(0)} cycles` : '–'];
  });
  const heads = [['Chip'], ['Nominal'], ['Measured', 'Frequency on the host’s clock'], ['Off', 'Measured against nominal'], ['Bound', 'How far a time may be off the host’s clock'], ['Pings', 'Readings of the clock that the fit rests on'],
    ['Frequency uncertainty', 'What the slowest and the fastest clock that explain all pings differ by'], ['Steps', 'Changes of the frequency'], ['Tiles', 'Tiles whose offset from the chip’s reference was measured']];
  const table = h('table.plain', {}, h('thead', {}, h('tr', {}, heads.map(([text, title], i) => h(i ? 'th.number' : 'th', { scope: 'col', title: title ?? '' }, text)))),
    h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) => h(i ? 'td.number' : 'td', {}, cell))))));
  const isMeasured = devices.some((device) => device.clock.is_host_time);
  section.append(h('p', {}, isMeasured
    ? 'Times are those of the host’s clock. Every one is right to within the bound, whatever the delays of the readings were.'
    : 'The host’s clock was not sampled: times count from each chip’s first record, at its nominal frequency.', !isMeasured && devices.length > 1 && ' Times of different chips have nothing to do with each other.'),
  h('div.scroller', {}, table));
  if (facts.clock_problems.length) section.append(h('ul', {}, facts.clock_problems.map((problem) => h('li', {}, problem))));
}
