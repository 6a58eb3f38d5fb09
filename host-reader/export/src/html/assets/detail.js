// What is known of the zone, op, mark or loss that is chosen in the timeline.

const pair = (term, value) => value === null || value === '' || value === undefined ? null
  : h('div', {}, h('dt', {}, term), h('dd', {}, value));

function showDetail() {
  const { selected } = scene;
  const content = !selected ? emptyDetail() : selected.stretch ? stretchDetail(selected.stretch) : selected.op !== undefined ? opDetail(selected.op)
    : selected.zone !== undefined ? zoneDetail(selected.lane, selected.zone)
      : selected.point !== undefined ? pointDetail(selected.lane, selected.point) : lossDetail(selected.lane, selected.loss);
  timeline.detail.replaceChildren(...content);
}

const emptyDetail = () => [h('p.muted', {}, 'Nothing chosen. Click a zone, an op or a mark; a click on a core opens its lanes.')];

const action = (text, title, onclick, disabled = false) => h('button.tool', { type: 'button', title, onclick, disabled }, text);

function whenText(device, cycle) {
  const absolute = BigInt(device.first_cycle) + BigInt(Math.round(cycle));
  const clock = device.isHost ? `${absolute.toLocaleString('en-US')} ns on the host’s clock` : `cycle ${absolute.toLocaleString('en-US')}`;
  return `${sinceText(device.nsAt(cycle))} from the start, ${clock}`;
}

function sourceText(name) {
  if (!names.file[name]) return names.marker_id[name] === null ? 'unknown' : `unknown, id ${names.marker_id[name]}`;
  const place = `${names.file[name]}:${names.line[name]}`;
  return names.is_ambiguous[name] ? `${place}, or another place with the same id` : place;
}

function zoneDetail(lane, zone) {
  const { device } = lane;
  const name = lane.names[zone], cycles = lane.cycles(zone);
  const row = facts.zones.name.indexOf(name);
  const median = row < 0 ? 0 : facts.zones.median_cycles[row] ?? 0;
  const op = lane.opOf(zone);
  const parent = lane.parent(zone);
  const place = lane.placeOf(zone), { zones } = lane.levels[lane.depths[zone]];
  const before = zones[place - 1];
  const isSibling = before !== undefined && lane.parent(before) === parent;
  const oddities = [
    lane.open.has(zone) && 'drawn to the end of what is around it: the record of its own end is missing',
    lane.recorded.has(zone) && `drawn shorter, since it reaches out of the zone around it: ${cyclesWords(lane.durations[zone], device)}`,
  ].filter(Boolean);
  return [
    h('div.detail-head', {}, h('h3', {}, names.label[name]), h('span.big', {}, cycles === null ? h('span.bad', {}, 'open, end not recorded') : bothText(cycles, device)),
      h('span.tools', {}, action('Zoom to it', 'Enter', showSelected),
        action('‹ same name', 'The one before of the same name on this lane: [', () => nextOfName(-1), lane.sameName(zone, -1) < 0),
        action('same name ›', 'The next of the same name on this lane: ]', () => nextOfName(1), lane.sameName(zone, 1) < 0),
        row >= 0 && action('Longest', 'The longest of this name in the whole trace', () => showZone(facts.zones.longest[row])))),
    h('dl.pairs', {},
      pair(device.isHost ? 'Thread' : 'Lane', `${devices.length > 1 && !device.isHost ? `${device.label}, ` : ''}${device.laneLabel(lane.index)}`),
      pair('Text', lane.zoneTexts?.get(zone)),
      device.isHost ? pair('Ops meanwhile', opsWithin(lane.starts[zone], lane.end(zone))) : pair('Op', op >= 0 ? opLink(op) : 'none'),
      pair('Source', h('code', {}, sourceText(name))),
      pair(cycles === null ? 'Open since' : 'Starts', whenText(device, lane.starts[zone])),
      pair('vs. median', median && cycles !== null ? `${(cycles / median).toFixed(2)} × of ${cyclesWords(median, device)} (${counted(facts.zones.count[row], 'zone')})` : ''),
      pair('Share', parent >= 0 && cycles !== null && !lane.recorded.has(zone) && lane.cycles(parent) ? `${percentText(cycles / lane.cycles(parent))} of ${names.label[lane.names[parent]]}` : ''),
      pair('After the one before', isSibling && lane.cycles(before) !== null ? bothText(Math.max(0, lane.starts[zone] - lane.end(before)), device) : ''),
      pair('Note', oddities.join('; '))),
  ];
}

/** Ops that ran within a stretch of time: the first of them, and how many there are. */
function opsWithin(start, end) {
  if (!host.is_on_clock_of_chips) return null;
  const within = ops.start_ns.map((_, op) => op).filter((op) => ops.start_ns[op] >= start && ops.end_ns[op] <= end);
  return within.length ? h('span', {}, opLink(within[0]), within.length > 1 ? ` and ${counted(within.length - 1, 'other')}` : '') : 'none';
}

function pointDetail(lane, point) {
  const { device } = lane;
  const name = lane.pointNames[point];
  return [
    h('div.detail-head', {}, h('h3', {}, names.label[name]), h('span.big', {}, pointText(lane, point))),
    h('dl.pairs', {},
      pair(device.isHost ? 'Thread' : 'Lane', device.laneLabel(lane.index)), pair('Source', h('code', {}, sourceText(name))),
      pair('At', whenText(device, lane.pointTimes[point]))),
  ];
}

function lossDetail(lane, loss) {
  const program = facts.losses.program[loss];
  return [
    h('div.detail-head', {}, h('h3.bad', {}, lossText(loss))),
    h('dl.pairs', {},
      pair('Lane', lane.device.laneLabel(lane.index)), pair('Program', program === null ? 'unknown' : String(program)),
      pair('Shown at', 'the end of the program’s last run on this lane')),
  ];
}

/** What to know before the figures of an op itself are trusted. */
const opDoubts = (op) => [
  ops.lost_records[op] && `${counted(ops.lost_records[op], 'record')} lost`,
  ops.unfinished_core_count[op] && `${counted(ops.unfinished_core_count[op], 'core')} did not finish`,
  ops.time_matched_core_count[op] && `${counted(ops.time_matched_core_count[op], 'core')} lack a launch and were assigned by time`,
  ops.duration_doubt[op] !== null && `no duration, since ${durationDoubt(op)}`,
].filter(Boolean);

/** The same, and why the time before it is not known. */
const opOddities = (op) => ops.latency_doubt[op] === null ? opDoubts(op) : [...opDoubts(op), `no gap before it, since ${gapDoubt(op)}`];

function opDetail(op) {
  const device = opDevice(op);
  const [least, middle, most] = coreKernels(op);
  const fields = h('dl.pairs.fields');
  device.opCells(opNumber(op)).then((cells) => {
    fields.replaceChildren(...cells.fields.map(([key, value]) => pair(key, value || '–')));
  });
  const riscs = ops.risc_kernel_cycles[op].map((cycles, risc) => cycles === null ? null : pair(`${facts.riscs[risc]} kernel`, bothText(cycles, device)));
  return [
    h('div.detail-head', {}, h('h3', {}, opLabel(op)), h('span.big', {}, bothText(ops.kernel_cycles[op] ?? durationOf(op), device)),
      h('span.tools', {}, action('Zoom to it', 'Enter', showSelected), action('‹ op', 'The op before', () => step(-1), opNumber(op) === 0),
        action('op ›', 'The next op', () => step(1), opNumber(op) === device.opIndices.length - 1))),
    h('dl.pairs', {},
      devices.length > 1 && pair('Device', device.label),
      pair('Starts', whenText(device, ops.start_cycles[op])),
      pair('With firmware', durationOf(op) === null ? '' : bothText(durationOf(op), device)),
      pair('After the op before', ops.op_to_op_latency_cycles[op] === null ? '' : bothText(ops.op_to_op_latency_cycles[op], device)),
      pair('Cores', grouped(ops.recorded_core_count[op])),
      pair('One core', most ? `${cyclesText(least, device)} to ${cyclesText(most, device)}, middle ${cyclesText(middle, device)}` : ''),
      pair('First to last start', ops.kernel_first_to_last_start_cycles[op] === null ? '' : bothText(ops.kernel_first_to_last_start_cycles[op], device)),
      ops.stall_cycles[op] !== null && pair('Waited for the host', `${bothText(ops.stall_cycles[op], device)}, all RISCs together`),
      riscs, pair('Note', opOddities(op).join('; '))),
    fields,
  ];
}
