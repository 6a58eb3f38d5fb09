// What is missing, by cause as in the terminal and lane by lane, and what was odd.

/** Losses by cause, chip and RISC, and what helps against them. */
function lossGroups() {
  const { groups, remedies } = facts.losses;
  const count = (group, key) => `${group.is_lower_bound ? '≥ ' : ''}${grouped(group[key])}`;
  const kinds = ['Zones', 'Values', 'Events', 'Sums', 'Unknown'];
  const rows = groups.map((group) => h('tr', {}, h('td', {}, group.cause), h('td', {}, String(group.chip_id)), h('td', {}, group.risc), h('td', {}, group.programs),
    h('td.number', {}, grouped(group.core_count)), h('td.number', {}, group.runs ? grouped(group.runs) : ''), LOST_KINDS.map((key) => h('td.number', {}, count(group, key)))));
  const heads = ['Cause', 'Device', 'RISC', 'Programs', 'Cores', 'Runs', ...kinds];
  return h('div', {}, h('div.scroller', {}, h('table.plain.loss-groups', {}, h('caption.unseen', {}, 'Losses by cause and RISC'),
    h('thead', {}, h('tr', {}, heads.map((head, index) => h(index > 3 ? 'th.number' : 'th', { scope: 'col' }, head)))), h('tbody', {}, rows))),
  remedies.map(([cause, remedy]) => h('p.muted', {}, `${cause}: ${remedy}.`)));
}

/** Zones in which the profiler shows its own time, as in the terminal. */
const OWN_ZONES = [['PROFILER-DRAM-STALL', 'RISCs stood still until the host had read'], ['PROFILER-DRAM-PUSH', 'Pushes of several launches']];

/** How often and how long RISCs worked for the profiler, of each kind of its zones that there is. */
function ownTimes() {
  const { zones } = facts;
  return OWN_ZONES.flatMap(([label, what]) => {
    const rows = upTo(zones.name.length).filter((row) => names.label[zones.name[row]] === label);
    const all = (column, join) => rows.reduce((sum, row) => join(sum, column[row]), 0);
    const add = (one, other) => one + other, count = all(zones.count, add);
    if (!count) return [];
    const [total, longest] = [all(zones.total_cycles, add), all(zones.max_cycles, Math.max)];
    return [`${what}: ${count === 1 ? '1 time' : `${grouped(count)} times`}, ${grouped(total)} cycles in all, ${grouped(longest)} at most`];
  });
}

function buildLosses() {
  const section = byId('losses');
  const { losses, anomalies } = facts;
  const count = (i) => lostRecords(losses, i);
  section.append(verdict(false));
  if (losses.cause.length) {
    const lane = (i) => `${losses.core_x[i]}-${losses.core_y[i]} ${losses.risc[i]}`;
    const lostProgram = (i) => losses.program[i] !== null ? String(losses.program[i]) : losses.programs[i] ? `among ${losses.programs[i].join(' to ')}` : 'unknown';
    const number = (key, label, title) => ({ label, title, width: '9%', value: (i) => losses[key][i], show: (i) => losses[key][i] ? grouped(losses[key][i]) : '·' });
    const table = new Table({
      label: 'Losses', noun: ['loss', 'losses'], placeholder: 'Filter losses', rows: upTo(losses.cause.length), sort: { column: 4, isDown: true }, height: 300,
      search: (i) => `device ${losses.chip_id[i]} ${lane(i)} program ${losses.program[i]} ${losses.cause[i]}`,
      onOpen: (i) => showLoss(i),
      columns: [
        { label: 'Lane', isText: true, width: '17%', value: lane, show: (i) => losses.lane[i] ? openButton(lane(i), 'Show in the timeline') : lane(i) },
        { label: 'Device', width: '8%', value: (i) => losses.chip_id[i], show: (i) => String(losses.chip_id[i]) },
        { label: 'Program', width: '10%', value: (i) => losses.program[i], show: lostProgram },
        { label: 'Why', isText: true, width: '16%', value: (i) => losses.cause[i], show: (i) => losses.cause[i] },
        { label: 'Records', width: '11%', value: count, show: (i) => `${losses.is_lower_bound[i] ? '≥ ' : ''}${grouped(count(i))}` },
        number('zones', 'Zones'), number('data', 'Values'), number('events', 'Events'), number('sums', 'Sums'), number('unknown_markers', 'Unknown', 'Markers whose kind cannot be known'),
      ],
    });
    section.append(lossGroups(), h('details', {}, h('summary', {}, 'By core and program'), h('div.section-head', {}, table.count, h('span.tools', {}, table.filter)), table.scroller));
  }
  const rest = facts.doubts.filter(([key]) => !/^(lost_|losses_unknown_|left_out_|anomaly_|repaired_|hidden_)/.test(key)).map(([key, count]) => `${grouped(count)} ${key.replaceAll('_', ' ')}`);
  section.append(...ownTimes().map((line) => h('p', {}, `${line}.`)));
  if (rest.length) section.append(h('p', {}, `Also: ${rest.join(', ')}.`));
  if (anomalies.kinds.length) section.append(anomalyList(anomalies));
}

function anomalyList({ kinds, kept, unnamed_count: unnamed }) {
  const rows = kinds.map(([kind, count, isRepair]) => h('tr', {}, h('td', {}, kind), h('td', {}, isRepair ? 'repaired' : 'in doubt'), h('td.number', {}, grouped(count))));
  const places = kept.map(({ kind, lane, position, detail }) => h('li', {}, `${kind}${lane ? `, ${lane}` : ''}, at ${grouped(position)}${detail ? `: ${detail}` : ''}`));
  return h('div.gaps', {}, h('table.plain', {}, h('caption', {}, 'What was odd'), h('tbody', {}, rows)),
    places.length ? h('details', {}, h('summary', {}, `Where: the first ${grouped(places.length)}`), h('ul', {}, places), unnamed ? h('p.muted', {}, `${grouped(unnamed)} more are known with their place.`) : '') : '');
}

async function showLoss(index) {
  const place = facts.losses.lane[index];
  if (!place) return;
  const device = devices[place[0]], core = device.lanes.core[place[1]];
  const lanes = await device.coreLanesSoon(core);
  showCore(place[0], core);
  select({ lane: lanes.find((lane) => lane.index === place[1]), loss: index });
  const at = facts.losses.time_ns[index], span = Math.min(scene.view.span, spanNs / 4);
  showView(at - span / 2, span);
}
