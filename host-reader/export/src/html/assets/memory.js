// Memory while ops run: the peaks, what makes them, the use over ops or time, and what is at which address.

const bytesKnown = (bytes) => bytes === null ? 'unknown' : grouped(bytes);
const shown = { name: 'L1', chip: null, isByTime: false, row: -1, cores: null };

function buildMemory() {
  const section = byId('memory');
  if (!memory) {
    section.hidden = true;
    byId('memory-chart').remove();
    return;
  }
  shown.chip = memoryOps.chip_id[0];
  headOf('memory').append(h('span.muted.hint', {}, 'Bytes of L1 on the fullest core, and of each bank of DRAM, while each op runs.'), memoryTools());
  section.append(h('dl.figures', {}, memory.peaks.flatMap(peakFigures)));
  section.append(byId('memory-chart'), h('div.legend.memory-legend'), h('div.memory-op', { 'aria-live': 'polite' }));
  for (const peak of memory.peaks) section.append(...makerTable(peak), ...outlivedTable(peak));
  section.append(h('h3.sub', {}, 'L1 of the fullest core, and DRAM, during each op'), memoryOpTable());
  section.append(...unknownOfMemory().map((line) => h('p.muted', {}, line)));
  isDark.addEventListener('change', drawMemory);
  pickMemoryPeak();
}

/** The row of a peak's op. */
const rowOfPeak = (peak) => upTo(memoryOps.program.length).find((row) => memoryOps.chip_id[row] === peak.chip_id && memoryOps.program[row] === peak.program);
const peakOf = (name, chip) => memory.peaks.find((peak) => peak.memory === name && peak.chip_id === chip);

function memoryTools() {
  const chips = [...new Set(memoryOps.chip_id)];
  const onChange = (key, valueOf) => (value) => { shown[key] = valueOf(value); if (key === 'isByTime') drawMemory(); else pickMemoryPeak(); };
  return h('span.tools', {},
    chips.length > 1 && choice('Device', chips.map((chip) => [String(chip), `device ${chip}`]), onChange('chip', Number)),
    choice('Memory', Object.keys(MEMORIES).map((name) => [name, name]), onChange('name', String)),
    choice('Axis', [['ops', 'by op'], ['time', 'over time']], onChange('isByTime', (value) => value === 'time')));
}

function pickMemoryPeak() {
  const peak = peakOf(shown.name, shown.chip) ?? peakOf('L1', shown.chip);
  pickMemoryOp(rowOfPeak(peak) ?? 0);
}

function pickMemoryOp(row) {
  Object.assign(shown, { row, cores: null });
  drawMemory();
  showMemoryOp();
}

function drawMemory() {
  drawMemoryChart(byId('memory-chart'), { ...shown, picked: shown.row, onPick: pickMemoryOp });
  document.querySelector('.memory-legend').replaceChildren(...memoryLegend(shown.name, shown.row));
}

const ofWhole = (part, whole) => whole ? `${(part / whole * 100).toFixed(1)} %` : '';

/** The peak of a memory: how full, where, during which op, and how much room is left. */
function peakFigures(peak) {
  const { memory: name, used_bytes: used, capacity_bytes: capacity, free_bytes: free } = peak;
  const row = rowOfPeak(peak), place = placeText(peak), device = devices.length > 1 ? `, device ${peak.chip_id}` : '';
  const cores = name === 'DRAM' ? 'in each bank' : peak.core_ranges === null ? 'on every worker core' : `on ${peak.core_ranges}`;
  const button = h('button.link', { type: 'button', title: 'Show what is in memory', onclick: () => { shown.name = name; shown.chip = peak.chip_id; pickMemoryOp(row); } }, memoryLabel(row));
  const piece = peak.largest_free_bytes === null ? '' : `${grouped(peak.largest_free_bytes)} in one piece`;
  return [
    figure(`${name} at its peak${device}`, `${peak.is_lower_bound ? '≥ ' : ''}${grouped(used)}${capacity === null ? '' : ` of ${grouped(capacity)}`} bytes`, h('span', {}, [ofWhole(used, capacity), cores, 'during '].filter(Boolean).join(', '), button, place && `, called at ${place}`)),
    figure(`Free in ${name} then${device}`, `${bytesKnown(free)}${free === null ? '' : ' bytes'}`, piece),
    peak.outlived_bytes > 0 && figure(`In ${name} without a later use${device}`, `${grouped(peak.outlived_bytes)} bytes`, counted(peak.outlived.size.length, 'tensor')),
  ].filter(Boolean);
}

const headRow = (heads) => h('thead', {}, h('tr', {}, heads.map(([text, isNumber, title]) => h(isNumber ? 'th.number' : 'th', { scope: 'col', title: title ?? '' }, text))));
const plainTable = (label, heads, rows, className = '') => h(`div.scroller${className}`, {}, h('table.plain', {}, h('caption.unseen', {}, label), headRow(heads), h('tbody', {}, rows)));
const textCell = (text) => h('td', { title: text ?? '' }, text ?? '');

/** What keeps a memory in use at its peak, by the call or op that it belongs to. */
function makerTable(peak) {
  const makers = peak.makers.filter((maker) => maker.bytes > 0);
  if (!makers.length) return [];
  const whole = makers.reduce((sum, maker) => sum + maker.bytes, 0);
  const rows = makers.map((maker) => h('tr', {}, h('td.number', {}, grouped(maker.bytes)), h('td.number', {}, ofWhole(maker.bytes, whole)), textCell(maker.kind), h('td.number', {}, grouped(maker.range_count)),
    textCell(maker.owner === null ? null : visible(maker.owner)), textCell(placeText(maker)), h('td.number', {}, grouped(maker.outlived_bytes))));
  const heads = [['Bytes', true], ['Share', true], ['What'], ['Ranges', true], ['Of'], ['Called at'], ['Of no later use', true, 'Bytes of tensors that no later op has']];
  const device = devices.length > 1 ? ` of device ${peak.chip_id}` : '';
  return [h('h3.sub', {}, `What fills ${peak.memory}${device} during ${memoryLabel(rowOfPeak(peak))}`), plainTable(`What fills ${peak.memory}`, heads, rows, '.makers')];
}

/** Tensors at a peak that no later op has. */
function outlivedTable({ memory: name, outlived }) {
  if (!outlived.size.length) return [];
  const rows = upTo(outlived.size.length).map((index) => h('tr', {}, h('td.number', {}, grouped(outlived.size[index])), textCell(visible(outlived.content[index] ?? '')), textCell(visible(outlived.owner[index] ?? '')),
    textCell(placeText({ location: outlived.location[index], module: outlived.module[index] })), textCell(outlived.last_program[index] === null ? '' : `${visible(outlived.last_name[index] ?? '')} (${outlived.last_program[index]})`)));
  const heads = [['Bytes', true], ['Tensor'], ['Made by'], ['Made at'], ['Last of']];
  return [h('h3.sub', {}, `Tensors in ${name} then that outlive their last use`), plainTable('Tensors that outlive their last use', heads, rows, '.outlived')];
}

function memoryOpTable() {
  const number = (label, width, values, title) => ({ label, width, title, value: (row) => values[row], show: (row) => unknownOr(values[row], grouped) });
  const parts = (index) => memoryOps.parts.map((of) => of[index]);
  const columns = [
    { label: 'Op', isText: true, width: '26%', value: memoryLabel, show: (row) => openButton(memoryLabel(row), 'Show what is in memory') },
    devices.length > 1 && number('Dev', '6%', memoryOps.chip_id),
    { label: 'Called at', isText: true, width: '18%', value: placeOfOp, show: placeOfOp },
    { label: 'L1 in use', width: '12%', value: (row) => memoryOps.used[row], show: (row) => `${memoryOps.is_lower_bound[row] ? '≥ ' : ''}${grouped(memoryOps.used[row])}` },
    number('Circular buffers', '12%', parts(0)), number('Buffers', '10%', parts(1)), number('Free', '10%', memoryOps.free), number('In one piece', '10%', memoryOps.largest_free), number('DRAM', '10%', memoryOps.dram),
  ].filter(Boolean);
  const used = columns.findIndex((column) => column.label === 'L1 in use');
  return new Table({ label: 'Memory by op', noun: ['op'], rows: upTo(memoryOps.program.length), columns, height: 320, minWidth: 900, sort: { column: used, isDown: true }, onOpen: pickMemoryOp }).scroller;
}

/** What is at which address during the op that is picked. */
function showMemoryOp() {
  const { row } = shown, place = document.querySelector('.memory-op');
  const head = h('div.op-head', {}, h('h3', {}, memoryLabel(row)), h('span.muted', {}, [placeOfOp(row) && `called at ${placeOfOp(row)}`, roomText(row)].filter(Boolean).join('; ')));
  place.replaceChildren(head);
  rangesOf(row).then((ranges) => { if (shown.row === row) place.replaceChildren(head, ...rangesShown(ranges, row)); });
}

function roomText(row) {
  if (memoryOps.free[row] === null) return 'free bytes of L1 unknown';
  return `${grouped(memoryOps.free[row])} bytes of L1 free, ${grouped(memoryOps.largest_free[row])} of them in one piece`;
}

function rangesShown(ranges, row) {
  // Cores with the same ranges are one group; launches with others have another layout.
  const groups = [...new Map(ranges.filter((range) => range.cores !== null).map((range) => [`${range.cores}/${range.layout}`, range])).values()];
  const keyOf = (range) => `${range.cores}/${range.layout}`;
  const fullest = groups.find((range) => range.cores === memoryOps.cores[row]) ?? groups[0];
  const of = (key) => ranges.filter((range) => range.memory === 'L1' && (range.cores === null || keyOf(range) === key)).sort((one, other) => one.start - other.start);
  const body = h('div');
  const fill = (key) => body.replaceChildren(drawAddresses(of(key), row), rangeTable([...of(key), ...ranges.filter((range) => range.memory === 'DRAM')]));
  const label = (range) => `cores ${range.cores}${groups.some((other) => other !== range && other.cores === range.cores) ? `, layout ${range.layout}` : ''}`;
  const cores = groups.length > 1 && choice('Cores', groups.map((range) => [keyOf(range), label(range)]), fill);
  if (cores) cores.value = keyOf(fullest);
  fill(fullest ? keyOf(fullest) : '');
  return [h('p.tools', {}, cores || h('span.muted', {}, fullest ? label(fullest) : 'every worker core; circular buffers and kernels are unknown')), body];
}

function rangeTable(ranges) {
  const rows = ranges.map((range) => h('tr', {}, textCell(range.memory), h('td.number', {}, String(range.start)), h('td.number', {}, grouped(range.size)), h('td.number', {}, grouped(range.counted)), textCell(rangeText(range)),
    textCell(range.content), textCell(range.owner), textCell(placeText(range)), textCell(range.last === null ? '' : String(range.last))));
  const heads = [['Memory'], ['Start', true], ['Bytes', true], ['Not yet counted', true, 'Bytes that are in no range above'], ['What'], ['Content'], ['Allocated by'], ['Called at'], ['Last use']];
  return plainTable('Ranges of memory', heads, rows, '.ranges');
}

/** What is not known, in the sentences of the terminal. */
function unknownOfMemory() {
  const all = counted(memory.op_count, 'op');
  const lines = [
    [memory.ops_without_launch_messages, 'have no launch messages: their circular buffers are unknown'],
    [memory.ops_without_buffers, "have no list of buffers: a call that kprof did not see, or a graph of the program's own"],
    [memory.ops_with_unreadable_buffers, 'have a list of buffers that cannot be read'],
  ].filter(([count]) => count).map(([count, what]) => `${grouped(count)} of ${all} ${what}`);
  if (memory.buffers_never_seen) lines.push(`${counted(memory.buffers_never_seen, 'buffer')} freed or used that kprof never saw`);
  return lines;
}
