// The timeline by keyboard: from zone to zone, from lane to lane.

function onTimelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { view } = scene;
  const pan = (share) => () => showView(view.start + share * view.span, view.span);
  const actions = {
    w: () => zoom(0.6), s: () => zoom(1 / 0.6), a: pan(-0.2), d: pan(0.2), '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6),
    0: showHome, 9: () => showView(0, spanNs), Home: () => showView(home.start, view.span), End: () => showView(home.start + home.span - view.span, view.span),
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => climb(-1), ArrowDown: () => climb(1),
    Enter: showSelected, Escape: () => select(null),
    '[': () => nextOfName(-1), ']': () => nextOfName(1),
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** From zone to zone of a level. */
function step(by) {
  const { selected } = scene;
  if (selected?.op !== undefined) {
    const { opIndices } = opDevice(selected.op);
    const next = opIndices[opIndices.indexOf(selected.op) + by];
    if (next !== undefined) { select({ op: next }); showStretch(ops.start_ns[next], ops.end_ns[next]); }
    return;
  }
  if (selected?.zone === undefined) { selectFirst(); return; }
  const { lane, zone } = selected;
  const next = lane.levels[lane.depths[zone]].zones[lane.placeOf(zone) + by];
  if (next !== undefined) goTo(lane, next);
}

/** Outwards and inwards; beyond the innermost or outermost to the next lane. */
function climb(by) {
  const { selected } = scene;
  if (selected?.zone === undefined) { selectFirst(); return; }
  const { lane, zone } = selected;
  if (by < 0 && lane.depths[zone]) { goTo(lane, lane.parent(zone)); return; }
  const depth = lane.depths[zone] + 1;
  const inner = lane.levels[depth]?.zones[lane.placeAt(depth, lane.starts[zone] - 0.5) + 1];
  if (by > 0 && inner !== undefined && lane.starts[inner] <= lane.end(zone)) { goTo(lane, inner); return; }
  const lanes = scene.rows.filter((row) => row.kind === 'lane');
  const at = lanes.findIndex((row) => row.device === lane.device && row.lane === lane.index);
  const row = lanes[at + by];
  const other = row?.device.opened.get(row.core)?.find((other) => other.index === row.lane);
  if (!other?.levels.length) return;
  const place = Math.max(0, other.placeAt(0, other.device.cycleAt(lane.device.nsAt(lane.starts[zone]))));
  goTo(other, other.levels[0].zones[place]);
}

function selectFirst() {
  const rows = rowsBetween(timeline.scroller.scrollTop, timeline.scroller.scrollTop + timeline.scroller.clientHeight).filter((row) => row.kind === 'lane');
  const row = rows.find(({ device }) => !device.isHost) ?? rows[0];
  const lane = row?.device.opened.get(row.core)?.find((lane) => lane.index === row.lane);
  if (!lane?.levels.length) return;
  const place = Math.max(0, lane.placeAt(0, lane.device.cycleAt(scene.view.start)));
  goTo(lane, lane.levels[0].zones[place]);
}

function nextOfName(by) {
  const { selected } = scene;
  const next = selected?.zone === undefined ? -1 : selected.lane.sameName(selected.zone, by);
  if (next >= 0) goTo(selected.lane, next);
}
