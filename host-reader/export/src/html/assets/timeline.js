// The timeline as a thing to handle: zoom, pan, choose, go from zone to zone.

const timeline = {};

function buildTimeline() {
  const section = byId('timeline');
  const button = (text, title, onclick) => h('button.tool', { type: 'button', title, onclick }, text);
  timeline.find = h('input', { type: 'search', placeholder: 'Highlight zones by name', 'aria-label': 'Highlight zones by name', spellcheck: false, oninput: highlightFound });
  headOf('timeline').append(h('span.muted.hint', {}, 'Drag to move, Ctrl + wheel to zoom, Shift + drag to sum up a stretch. Press ? for keys.'),
    h('span.tools', {}, timeline.find,
      button('−', 'Zoom out (S)', () => zoom(2)), button('+', 'Zoom in (W)', () => zoom(0.5)), button(hasMoreThanHome ? 'Ops' : 'All', 'Show all ops (0)', showHome), hasMoreThanHome && button('All', 'Show everything, the host too (9)', () => showView(0, spanNs)),
      button('Open cores', 'Open the lanes of every core, or close them', toggleCores)));
  timeline.mini = h('canvas.mini', { 'aria-hidden': 'true' });
  timeline.canvas = h('canvas.scene', { tabIndex: 0, role: 'application', 'aria-label': 'Timeline of all lanes. Arrow keys go from zone to zone; W and S zoom, A and D move, 0 shows all ops.' });
  timeline.spacer = h('div');
  timeline.scroller = h('div.lanes', { onscroll: () => redraw() }, timeline.canvas, timeline.spacer);
  timeline.tip = h('div.tip', { hidden: true });
  timeline.detail = h('div.detail', { 'aria-live': 'polite' });
  section.append(timeline.mini, timeline.scroller, timeline.detail, timeline.tip);
  if (coreCount <= 2) for (const device of devices) device.cores.forEach((_, core) => scene.expanded.add(coreKey(device.index, core)));
  else if (devices[0]?.cores.length) scene.expanded.add(coreKey(0, 0));
  if (host && host.cores.length <= 8) host.cores.forEach((thread) => scene.expanded.add(coreKey(host.index, thread)));
  listenToCanvas();
  listenToMini();
  document.addEventListener('keydown', onGlobalKey);
  new ResizeObserver(() => redraw()).observe(timeline.scroller);
  isDark.addEventListener('change', () => redraw());
  unit.listeners.push(() => { redraw(); showDetail(); });
  showDetail();
  relay();
}

/** Lays the rows anew, keeping what is on top in its place. */
function relay() {
  layRows();
  const visible = Math.min(scene.height + RULER + 2, Math.max(260, Math.round(window.innerHeight * 0.66)));
  timeline.scroller.style.height = `${visible}px`;
  timeline.spacer.style.height = `${Math.max(0, scene.height + RULER - visible)}px`;
  redraw();
}

let isRedrawDue = false;
function redraw() {
  if (isRedrawDue) return;
  isRedrawDue = true;
  requestAnimationFrame(() => {
    isRedrawDue = false;
    const { clientWidth: width, clientHeight: height, scrollTop } = timeline.scroller;
    if (!width) return;
    timeline.width = width;
    drawScene(surfaceOf(timeline.canvas, width, height), width, height, scrollTop, redraw);
    Object.assign(timeline.canvas.dataset, { ...scene.view, isWhole: scene.isWhole });
    drawMini();
  });
}

function drawMini() {
  const width = timeline.scroller.clientWidth, height = 26;
  const surface = surfaceOf(timeline.mini, width, height);
  const mini = miniRange();
  const x = (ns) => GUTTER + (ns - mini.start) / mini.span * (width - GUTTER);
  surface.fillStyle = colour('soft');
  surface.fillRect(GUTTER, 0, width - GUTTER, height);
  const each = height / devices.length;
  for (const device of devices) {
    for (const op of device.opIndices) {
      surface.fillStyle = hasHostNames ? fillOf(opHue(op), 0.07) : fillOf(245, 0.06);
      surface.fillRect(x(ops.start_ns[op]), device.index * each + 1, Math.max(0.6, x(ops.end_ns[op]) - x(ops.start_ns[op])), each - 2);
    }
  }
  surface.fillStyle = colour('bad');
  for (let op = 0; op < opCount; op++) if (ops.lost_records[op] || hasLostLaunches(op)) surface.fillRect(x(ops.start_ns[op]) - 1, 0, 2, 5);
  const { start, span } = scene.view;
  surface.fillStyle = colour('veil');
  surface.fillRect(GUTTER, 0, Math.max(0, x(start) - GUTTER), height);
  surface.fillRect(x(start + span), 0, width, height);
  surface.strokeStyle = colour('accent');
  surface.lineWidth = 1.5;
  surface.strokeRect(Math.max(GUTTER, x(start)) + 0.75, 0.75, Math.max(3, Math.min(width, x(start + span)) - Math.max(GUTTER, x(start)) - 1.5), height - 1.5);
}

/** What the strip above the timeline spans: all ops, or everything once the view leaves them. */
function miniRange() {
  const { start, span } = scene.view, slack = home.span * 0.3;
  return start >= home.start - slack && start + span <= home.start + home.span + slack ? home : { start: 0, span: spanNs };
}

// The view.

const showHome = () => showView(home.start, home.span);

function showView(start, span) {
  const least = 12;
  span = Math.min(Math.max(span, least), spanNs * 1.06);
  const margin = span * 0.25;
  start = Math.min(Math.max(start, -margin), spanNs - span + margin);
  if (span >= spanNs) start = (spanNs - span) / 2;
  scene.view = { start, span };
  noteAddress();
  redraw();
}

/** Zooms by a factor around a place of the width, its middle if not told. */
function zoom(factor, x = GUTTER + ((timeline.width ?? 800) - GUTTER) / 2) {
  const { start, span } = scene.view;
  const share = (x - GUTTER) / (timeline.width - GUTTER);
  const at = start + share * span;
  const wanted = Math.min(Math.max(span * factor, 12), spanNs * 1.06);
  showView(at - share * wanted, wanted);
}

const timeAt = (x) => scene.view.start + (x - GUTTER) / (timeline.width - GUTTER) * scene.view.span;

/** Shows a stretch with some room on both sides. */
function showStretch(start, end) {
  const room = Math.max((end - start) * 0.08, 5);
  showView(start - room, end - start + 2 * room);
}

// The pointer.

function listenToCanvas() {
  const { canvas } = timeline;
  let drag = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener('wheel', (event) => {
    const [x] = place(event);
    const isZoom = event.ctrlKey || event.metaKey || event.altKey;
    const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (!isZoom && Math.abs(sideways) < Math.abs(event.deltaY) && !event.shiftKey) return;
    event.preventDefault();
    if (isZoom) zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) * 0.006), Math.max(x, GUTTER));
    else showView(scene.view.start + sideways / (timeline.width - GUTTER) * scene.view.span, scene.view.span);
  }, { passive: false });
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    const [x, y] = place(event);
    canvas.setPointerCapture(event.pointerId);
    drag = { x, y, start: scene.view.start, top: timeline.scroller.scrollTop, isMeasure: event.shiftKey && x > GUTTER, isMoved: false };
    scene.measure = drag.isMeasure ? [timeAt(x), timeAt(x)] : null;
  });
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = place(event);
    if (!drag) { hover(x, y, event); return; }
    if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.isMoved = true;
    if (!drag.isMoved) return;
    timeline.tip.hidden = true;
    if (drag.isMeasure) { scene.measure[1] = timeAt(x); redraw(); return; }
    timeline.scroller.scrollTop = drag.top - (y - drag.y);
    showView(drag.start - (x - drag.x) / (timeline.width - GUTTER) * scene.view.span, scene.view.span);
  });
  canvas.addEventListener('pointerup', (event) => {
    const [x, y] = place(event);
    if (drag && !drag.isMoved) press(x, y);
    else if (drag?.isMeasure) select({ stretch: [...scene.measure].sort((a, b) => a - b) });
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('pointerleave', () => { scene.hovered = null; timeline.tip.hidden = true; redraw(); });
  canvas.addEventListener('dblclick', (event) => {
    const hit = hitAt(...place(event), timeline.width, timeline.scroller.scrollTop);
    if (hit?.op !== undefined || hit?.zone !== undefined) showSelected();
  });
  canvas.addEventListener('keydown', onTimelineKey);
}

function press(x, y) {
  const hit = hitAt(x, y, timeline.width, timeline.scroller.scrollTop);
  if (hit?.core !== undefined && hit.lane === undefined) toggleCore(hit.device.index, hit.core);
  else select(hit);
}

function hover(x, y, event) {
  const hit = hitAt(x, y, timeline.width, timeline.scroller.scrollTop);
  scene.hovered = hit;
  timeline.canvas.style.cursor = hit ? 'pointer' : '';
  const lines = hit && tipLines(hit);
  timeline.tip.hidden = !lines;
  if (lines) {
    timeline.tip.replaceChildren(...lines);
    const { offsetWidth: width, offsetHeight: height } = timeline.tip;
    const left = event.clientX + 16 + width > window.innerWidth ? event.clientX - width - 12 : event.clientX + 16;
    const top = event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 12 : event.clientY + 18;
    Object.assign(timeline.tip.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, top)}px` });
  }
  redraw();
}

function tipLines(hit) {
  const title = (text) => h('strong', {}, text);
  if (hit.lostBefore !== undefined) return [title(`Before ${opLabel(hit.lostBefore)}`), h('div.bad', {}, gapDoubt(hit.lostBefore))];
  if (hit.plot !== undefined) return [title(host.plots[hit.plot].name), h('div', {}, String(hit.value)), h('div.muted', {}, `${sinceText(hit.time)} from the start`)];
  if (hit.op !== undefined) return [title(opLabel(hit.op)), h('div', {}, durationOf(hit.op) === null ? `No duration: ${durationDoubt(hit.op)}` : bothText(durationOf(hit.op), opDevice(hit.op))), h('div.muted', {}, counted(ops.recorded_core_count[hit.op], 'core'))];
  if (hit.zone !== undefined) return [title(names.label[hit.lane.names[hit.zone]]), h('div', {}, hit.lane.open.has(hit.zone) ? 'open, end not recorded' : bothText(hit.lane.cycles(hit.zone), hit.lane.device)), h('div.muted', {}, hit.lane.device.laneLabel(hit.lane.index))];
  if (hit.point !== undefined) return [title(names.label[hit.lane.pointNames[hit.point]]), h('div', {}, pointText(hit.lane, hit.point))];
  if (hit.loss !== undefined) return [title(lossText(hit.loss)), h('div.muted', {}, hit.lane.device.laneLabel(hit.lane.index))];
  return null;
}

function pointText(lane, point) {
  const kind = KIND_WORDS[lane.pointKinds[point]];
  const values = lane.pointValues[point].map((value) => kind === 'sum' ? `${grouped(Number(value))} cycles` : `${value} (0x${value.toString(16)})`);
  return [kind, ...values, lane.pointTexts.get(point)].filter(Boolean).join(' ');
}

function listenToMini() {
  const { mini } = timeline;
  let from = null;
  const at = (event) => {
    const box = mini.getBoundingClientRect();
    const { start, span } = from?.range ?? miniRange();
    return start + (event.clientX - box.left - GUTTER) / (box.width - GUTTER) * span;
  };
  mini.addEventListener('pointerdown', (event) => {
    mini.setPointerCapture(event.pointerId);
    const { start, span } = scene.view, ns = at(event), range = miniRange();
    from = { ns, start, range, isInside: ns > start && ns < start + span && span < range.span * 0.98, isMoved: false };
  });
  mini.addEventListener('pointermove', (event) => {
    if (!from) return;
    const ns = at(event);
    if (Math.abs(ns - from.ns) / from.range.span * timeline.width > 3) from.isMoved = true;
    if (!from.isMoved) return;
    if (from.isInside) showView(from.start + ns - from.ns, scene.view.span);
    else showView(Math.min(ns, from.ns), Math.abs(ns - from.ns));
  });
  mini.addEventListener('pointerup', () => {
    if (from && !from.isMoved) showView(from.ns - scene.view.span / 2, scene.view.span);
    from = null;
  });
}

// Cores.

function toggleCore(device, core) {
  const key = coreKey(device, core);
  if (!scene.expanded.delete(key)) scene.expanded.add(key);
  relay();
}

function toggleCores() {
  if (scene.expanded.size) scene.expanded.clear();
  else for (const device of tracks) device.cores.forEach((_, core) => scene.expanded.add(coreKey(device.index, core)));
  relay();
}

function reveal(isWanted) {
  const row = scene.rows.find(isWanted);
  const { scroller } = timeline;
  const room = scroller.clientHeight - RULER;
  if (row && (row.y < scroller.scrollTop || row.y + row.height > scroller.scrollTop + room)) {
    scroller.scrollTop = Math.max(0, row.y - Math.max(0, (room - row.height) / 3));
  }
}

/** Opens a core's lanes and brings them into sight. */
function showCore(device, core) {
  scene.expanded.add(coreKey(device, core));
  relay();
  reveal((row) => row.kind === 'head' && row.device.index === device && row.core === core);
  byId('timeline').scrollIntoView({ block: 'start' });
}

// What is chosen.

function select(what) {
  scene.selected = what && (what.op !== undefined || what.stretch || what.lane) ? what : null;
  if (scene.selected?.op !== undefined) pickOp(scene.selected.op);
  else if (!scene.selected && opPage.op >= 0 && !opPage.isSlowest) pickOp(-1);
  if (!scene.selected?.stretch) scene.measure = null;
  noteAddress();
  showDetail();
  redraw();
}

function showSelected() {
  const { selected } = scene;
  if (selected?.op !== undefined) showStretch(ops.start_ns[selected.op], ops.end_ns[selected.op]);
  if (selected?.zone !== undefined) {
    const { lane, zone } = selected;
    showStretch(lane.device.nsAt(lane.starts[zone]), lane.device.nsAt(lane.end(zone)));
  }
}

/** Shows a zone: index of its chip, lane and number. */
async function showZone([deviceIndex, laneIndex, zone]) {
  const device = devices[deviceIndex], core = device.lanes.core[laneIndex];
  const lanes = await device.coreLanesSoon(core);
  const lane = lanes.find((lane) => lane.index === laneIndex);
  goTo(lane, zone);
  // The zone in the midst of what is around it.
  const start = device.nsAt(lane.starts[zone]), end = device.nsAt(lane.end(zone));
  const span = Math.max((end - start) * 4, 200);
  showView((start + end - span) / 2, span);
  byId('timeline').scrollIntoView({ block: 'start' });
}

/** Chooses a zone and moves the view as far as it takes to see it. */
function goTo(lane, zone) {
  const core = lane.device.lanes.core[lane.index];
  if (!scene.expanded.has(coreKey(lane.device.index, core))) {
    scene.expanded.add(coreKey(lane.device.index, core));
    relay();
  }
  select({ lane, zone });
  reveal((row) => row.kind === 'lane' && row.device === lane.device && row.lane === lane.index);
  const start = lane.device.nsAt(lane.starts[zone]), end = lane.device.nsAt(lane.end(zone));
  const { view } = scene;
  if (end - start > view.span) showStretch(start, end);
  else if (start < view.start || end > view.start + view.span) showView((start + end - view.span) / 2, view.span);
}

/** Shows an op in the timeline and on the grid. */
function openOp(op) {
  select({ op });
  showStretch(ops.start_ns[op], ops.end_ns[op]);
  reveal((row) => row.kind === 'ops' && row.device === opDevice(op));
  byId('timeline').scrollIntoView({ block: 'start' });
}

function highlightFound() {
  const text = timeline.find.value.trim().toLowerCase();
  const numbers = names.label.map((_, name) => name);
  scene.highlight = text ? new Set(numbers.filter((name) => names.label[name].toLowerCase().includes(text))) : null;
  redraw();
}
