// Statistics of a stretch of time: what ran in it, on every lane of every chip.

/** Zones by name and RISC, with their cycles within a stretch, of all lanes. */
async function statisticsOf(from, to) {
  const sums = new Map();
  for (const device of devices) {
    const first = device.cycleAt(from), last = device.cycleAt(to);
    for (let core = 0; core < device.cores.length; core++) {
      for (const lane of await device.coreLanesSoon(core)) addLane(sums, device, lane, first, last);
    }
  }
  return [...sums.values()].sort((a, b) => b.self - a.self);
}

/**
 * Adds a lane's zones, level by level; what nested zones take is not a zone's own. Zones whose end is not recorded are
 * counted, and the time from their start on is of no zone: nobody knows how much of it was theirs.
 */
function addLane(sums, device, lane, first, last) {
  const risc = device.lanes.risc[lane.index];
  lane.levels.forEach(({ zones }, depth) => {
    for (let place = Math.max(0, lane.placeAt(depth, first)); place < zones.length; place++) {
      const zone = zones[place], start = lane.starts[zone];
      if (start > last) break;
      const cycles = Math.min(lane.end(zone), last) - Math.max(start, first);
      if (cycles < 0 || lane.end(zone) < first) continue;
      const row = sumOf(sums, lane.names[zone], risc), ns = cycles / device.ghz;
      if (!lane.open.has(zone)) {
        row.count += 1;
        row.total += ns;
        row.self += ns;
      } else {
        row.open += 1;
        row.unknown = depth && row.unknown !== null ? row.unknown + ns : null;
      }
      const parent = depth ? lane.parent(zone) : -1;
      if (parent < 0) continue;
      const around = sumOf(sums, lane.names[parent], risc);
      if (!lane.open.has(parent)) around.self -= ns;
      else if (around.unknown !== null) around.unknown -= ns;
    }
  });
}

function sumOf(sums, name, risc) {
  const key = name * facts.riscs.length + risc;
  if (!sums.has(key)) sums.set(key, { name, risc, count: 0, open: 0, total: 0, self: 0, unknown: 0 });
  return sums.get(key);
}

/** The stretch that is chosen: how long, which ops, and the zones in it. */
function stretchDetail([from, to]) {
  const within = upTo(opCount).filter((op) => ops.end_ns[op] >= from && ops.start_ns[op] <= to);
  const zones = h('div', {}, h('p.muted', {}, 'Adding up …'));
  statisticsOf(from, to).then((rows) => {
    if (scene.selected?.stretch?.[0] !== from || scene.selected.stretch[1] !== to) return;
    zones.replaceChildren(stretchTable(rows));
    timeline.detail.dataset.stretch = 'whole';
  });
  delete timeline.detail.dataset.stretch;
  const text = devices.length === 1 ? bothText((to - from) * devices[0].ghz) : timeText(to - from);
  return [
    h('div.detail-head', {}, h('h3', {}, 'Stretch'), h('span.big', {}, text),
      h('span.tools', {}, action('Zoom to it', 'Enter', () => showStretch(from, to)), action('Clear', 'Escape', () => select(null)))),
    h('dl.pairs', {}, pair('From', sinceText(from)), pair('To', sinceText(to)),
      pair('Ops', within.length ? h('span', {}, opLink(within[0]), within.length > 1 ? ` and ${counted(within.length - 1, 'other')}` : '') : 'none')),
    zones,
  ];
}

function stretchTable(rows) {
  if (!rows.length) return h('p.muted', {}, 'No zones of a chip in it.');
  const time = timeInZones(rows);
  const text = (row, ns) => !row.count ? '–' : unit.isTime || devices.length > 1 ? timeText(ns) : grouped(ns * devices[0].ghz);
  const cells = rows.map((row) => h('tr', {}, h('td', {}, swatch(row.name), names.label[row.name]), h('td', {}, RISC_SHORT[row.risc]), h('td.number', {}, grouped(row.count), openCount(row.open)),
    h('td.number', {}, text(row, row.self)), h('td.number', {}, shareOf(row.count ? row.self : null, time)), h('td.number', {}, text(row, row.total))));
  const heads = ['Zone', 'RISC', 'Count', 'Self', 'Of time in zones', 'Total'];
  return h('div.scroller', {}, h('table.plain', {}, h('caption.unseen', {}, 'Zones in the stretch'),
    h('thead', {}, h('tr', {}, heads.map((head, index) => h(index > 1 ? 'th.number' : 'th', { scope: 'col' }, head)))), h('tbody', {}, cells)));
}
