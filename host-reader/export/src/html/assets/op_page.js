// What is known of one op: how long its RISCs ran and waited, its cores, its zones, its counters.

const opPage = { op: -1, isSlowest: true };
/** Whether one op is known to be the slowest: none is without durations. */
const hasSlowest = slowestOp >= 0 && ops.kernel_cycles[slowestOp] !== null;

function buildOpPage() {
  const section = byId('op');
  if (!opCount) { section.hidden = true; return; }
  const step = (by) => () => { const next = opPage.op + by; if (next >= 0 && next < opCount) select({ op: next }); };
  headOf('op').append(h('span.tools', {}, action('‹', 'The op before (P)', step(-1)), action('›', 'The next op (N)', step(1)),
    action('In the timeline', 'Show it in the timeline', () => openOp(opPage.op))));
  opPage.body = h('div', {});
  section.append(opPage.body);
  unit.listeners.push(() => showOpPage(opPage.op, opPage.isSlowest));
  isDark.addEventListener('change', () => showOpPage(opPage.op, opPage.isSlowest));
  showOpPage(slowestOp, true);
}

/** Shows an op; what the first view needs stands at once, single cores and zones follow. */
function showOpPage(op, isSlowest = false) {
  Object.assign(opPage, { op, isSlowest });
  showSource(op);
  if (op < 0 || !opPage.body) return;
  byId('op-title').textContent = isSlowest && hasSlowest ? 'Slowest op' : 'Op';
  const device = opDevice(op);
  const riscs = h('table.kernels'), zones = h('div'), slowest = h('span');
  const fill = (cells) => {
    riscs.replaceChildren(h('tbody', {}, riscRows(op, cells)));
    if (!cells) return;
    zones.replaceChildren(opZoneTable(op, cells.zones));
    slowest.replaceChildren(...slowestCore(op, cells));
  };
  opPage.body.replaceChildren(
    h('div.op-head', {}, h('h3', {}, opLink(op)), h('span.big', {}, bothText(ops.kernel_cycles[op] ?? durationOf(op), device))),
    h('p.muted', {}, opRank(op)), riscs,
    h('dl.pairs.op-facts', {}, opPace(op), opClasses(op), opFacts(op), pair('Slowest core', slowest), sourceLink(op), opCounters(op), opTraffic(op)),
    opTrouble(op), zones);
  fill(null);
  device.opCells(opNumber(op)).then((cells) => { if (opPage.op === op) fill(cells); });
}

/** How an op stands among all, and among those of its name. */
function opRank(op) {
  const inTime = (other) => ops.kernel_cycles[other] === null ? null : ops.kernel_cycles[other] / opDevice(other).ghz;
  const own = inTime(op);
  if (own === null) return 'Its kernels have no known duration.';
  const all = upTo(opCount).map(inTime).filter((ns) => ns !== null);
  const rank = all.filter((ns) => ns > own).length + 1;
  const named = upTo(opCount).filter((other) => ops.name[other] && ops.name[other] === ops.name[op]).map(inTime).filter((ns) => ns !== null).sort((a, b) => a - b);
  const total = all.reduce((sum, ns) => sum + ns, 0), unknown = opCount - all.length;
  const place = `${rank === 1 ? 'Slowest' : `Number ${grouped(rank)}`} of ${unknown ? `the ${grouped(all.length)} of ` : ''}${counted(opCount, 'op')}`;
  const words = unknown ? [`${place} whose duration is known, ${percentText(own / total)} of their kernel time`] : [`${place}, ${percentText(own / total)} of all kernel time`];
  if (named.length > 2 && named.length < all.length) words.push(`${(own / named[named.length >> 1]).toFixed(2)} × the median of its ${grouped(named.length)} launches`);
  else if (all.length > 2) words.push(`${(own / all.sort((a, b) => a - b)[all.length >> 1]).toFixed(2)} × the median`);
  return words.join(', ');
}

/** A row for each RISC: how much of the op its kernel takes, and what it does most. */
function riscRows(op, cells) {
  const whole = ops.kernel_cycles[op], device = opDevice(op);
  const width = (cycles) => whole ? Math.min(1, cycles / whole) * 100 : 0;
  return ops.risc_kernel_cycles[op].map((cycles, risc) => {
    if (cycles === null) return null;
    const most = cells?.zones.filter((row) => row.risc === risc && row.count && !names.is_frame[row.name]).sort((a, b) => b.self - a.self)[0];
    const time = timeInZones(cells?.zones.filter((row) => row.risc === risc) ?? []);
    const wait = waitOf(op, risc), waited = wait ? Math.min(1, (wait.blocked_percent + wait.barrier_percent) / 100) : 0;
    const fill = h('i'), blocked = h('i.waited');
    fill.style.width = `${width(cycles) * (1 - waited)}%`;
    fill.style.backgroundColor = markOf(RISC_HUES[risc]);
    blocked.style.width = `${width(cycles) * waited}%`;
    return h('tr', {}, h('th', { scope: 'row' }, facts.riscs[risc]), h('td.grow', {}, h('span.track', {}, fill, blocked)),
      h('td.number', {}, cyclesText(cycles, device)), h('td.number', {}, shareOfKnown(cycles, whole)),
      wait ? h('td', {}, waitCell(wait)) : h('td', {}, most ? [zoneButton(device, most), ' ', h('span.muted', {}, shareOf(most.self, time))] : ''));
  });
}

const zoneButton = (device, row) => h('button.link', { type: 'button', title: 'Show the longest in the timeline', onclick: () => showZone([device.index, row.lane, row.zone]) }, names.label[row.name]);

function opFacts(op) {
  const device = opDevice(op), [least, middle, most] = coreKernels(op);
  return [
    ops.module[op] !== null && pair('Module', visible(ops.module[op])),
    ops.call_location[op] !== null && pair('Called at', [ops.call_location[op], ops.call_function[op] && `in ${ops.call_function[op]}`].filter(Boolean).map(visible).join(' ')),
    devices.length > 1 && pair('Device', device.label),
    ops.sub_device_id[op] !== null && pair('Sub-device', String(ops.sub_device_id[op])),
    pair('Cores', most ? `${grouped(ops.recorded_core_count[op])}: ${cyclesText(least, device)} to ${cyclesText(most, device)}, median ${cyclesText(middle, device)}` : grouped(ops.recorded_core_count[op])),
    pair('First to last start', ops.kernel_first_to_last_start_cycles[op] === null ? '' : `${cyclesWords(ops.kernel_first_to_last_start_cycles[op], device)}, ${shareOfKnown(ops.kernel_first_to_last_start_cycles[op], ops.kernel_cycles[op])} of the op`),
    pair('Gap before', ops.op_to_op_latency_cycles[op] !== null ? cyclesWords(ops.op_to_op_latency_cycles[op], device) : ops.latency_doubt[op] === null ? '' : h('span.bad', {}, `unknown: ${gapDoubt(op)}`)),
    ops.stall_cycles[op] !== null && pair('Waited for the host to read', `${cyclesWords(ops.stall_cycles[op], device)}, all RISCs together`),
  ].filter(Boolean);
}

function slowestCore(op, cells) {
  const device = opDevice(op);
  const [core, cell] = [...cells.cores].reduce((best, entry) => !best || entry[1].cycles > best[1].cycles ? entry : best, null) ?? [];
  if (core === undefined) return [''];
  const middle = ops.core_kernel_median_cycles[op];
  const against = middle && cell.cycles !== middle ? `, ${percentText(cell.cycles / middle - 1)} over the median` : '';
  return [h('button.link', { type: 'button', onclick: () => { showCore(device.index, core); showStretch(ops.start_ns[op], ops.end_ns[op]); } }, device.coreLabel(core)), ` ${cyclesWords(cell.cycles, device)}${against}`];
}

/** The metrics of the op's hardware counters that say most: the five largest rates that are not in doubt. */
function opCounters(op) {
  const { metrics } = facts.counters;
  const rates = upTo(metrics.op.length).filter((row) => metrics.op[row] === op && metrics.unit[row] === '%' && !metrics.doubt[row] && metrics.values[row][3] > 0)
    .sort((a, b) => metrics.values[b][3] - metrics.values[a][3]).slice(0, 5);
  return rates.length ? pair('Counters, mean', rates.map((row) => `${metrics.label[row]} ${metrics.values[row][3].toFixed(1)} %`).join(', ')) : null;
}

/** Bytes that the op moved over each NoC. */
function opTraffic(op) {
  const own = facts.noc.activities.filter((row) => row.program === ops.program[op] && row.chip_id === opDevice(op).chip_id && row.bytes);
  if (!own.length || ops.trace_id[op] !== null) return null;
  const launches = opDevice(op).opIndices.filter((other) => ops.program[other] === ops.program[op]).length;
  const sums = new Map();
  for (const row of own) sums.set(row.noc, (sums.get(row.noc) ?? 0) + row.bytes);
  return pair(launches > 1 ? `NoC, ${counted(launches, 'launch', 'launches')}` : 'NoC', [...sums].map(([noc, bytes]) => `${noc} ${bytesShort(bytes)}`).join(', '));
}

function opTrouble(op) {
  // The gap's doubt stands among the facts.
  const words = opDoubts(op);
  return words.length ? h('p.bad', {}, `${words.join('; ')}.`) : '';
}

function opZoneTable(op, zones) {
  const device = opDevice(op), frames = zones.filter((row) => !names.is_frame[row.name]);
  const shown = (frames.length ? frames : zones).sort((a, b) => b.self - a.self);
  if (!shown.length) return h('p.empty-note', {}, 'No zones.');
  const ofRisc = new Map(zones.map(({ risc }) => [risc, timeInZones(zones.filter((row) => row.risc === risc))]));
  const rows = shown.map((row) => h('tr', {}, h('td', {}, swatch(row.name), zoneButton(device, row)), h('td', {}, RISC_SHORT[row.risc]), h('td.number', {}, grouped(row.count), openCount(row.open)),
    h('td.number', {}, row.count ? cyclesText(row.self, device) : '–'), h('td.number', {}, shareOf(row.self, ofRisc.get(row.risc))), h('td.number', {}, row.count ? cyclesText(row.most, device) : '–')));
  const heads = [['Zone'], ['RISC'], ['Count', 'Over all cores'], ['Self', 'In the zone itself, outside of nested ones, over all cores'], ['Of RISC', 'Share of the time that this RISC recorded in the op'], ['Max']];
  return h('div.scroller.op-zones', {}, h('table.plain', {}, h('caption.unseen', {}, 'Zones of the op'),
    h('thead', {}, h('tr', {}, heads.map(([text, title], index) => h(index > 1 ? 'th.number' : 'th', { scope: 'col', title: title ?? '' }, text)))), h('tbody', {}, rows)));
}
