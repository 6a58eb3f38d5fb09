// The grid of cores: what all ops, or the chosen one, took on each.

const GRID_METRICS = [
  ['kernel', 'Kernel time'], ['imbalance', 'Against the mean'], ['late', 'Start after the first core'],
  ...facts.riscs.map((risc, index) => [`risc-${index}`, `${risc} kernel`]).filter((_, index) => index !== 6
    && devices.some((device) => device.lanes.risc.includes(index))),
  ['lost', 'Records lost'],
  ...facts.noc.cores.length ? [['read', 'NoC bytes read'], ['written', 'NoC bytes written']] : [],
];

const grid = { metric: 'kernel', device: 0, op: -1, cells: null };

/** Figures of each core of the chip: sums over all ops, or one op's. */
function gridCores() {
  const device = devices[grid.device];
  const sums = facts.cores[grid.device];
  if (grid.op >= 0 && grid.cells) {
    return device.cores.map((_, core) => {
      const cell = grid.cells.cores.get(core);
      return cell && { cycles: cell.cycles, riscs: cell.riscs, late: cell.start, count: 1 };
    });
  }
  return device.cores.map((_, core) => sums.ops[core]
    ? { cycles: sums.kernel_cycles[core], riscs: sums.risc_cycles[core], late: sums.late_cycles[core] / sums.ops[core], count: sums.ops[core] }
    : undefined);
}

function gridValues(cores) {
  const known = cores.filter(Boolean);
  const mean = known.reduce((sum, core) => sum + core.cycles, 0) / (known.length || 1);
  const first = grid.op >= 0 ? Math.min(...known.map((core) => core.late)) : 0;
  return cores.map((core, index) => {
    if (grid.metric === 'lost') return lostOfCore(index);
    if (grid.metric === 'read' || grid.metric === 'written') return trafficOfCore(index);
    if (!core) return null;
    switch (grid.metric) {
      case 'kernel': return core.cycles;
      case 'imbalance': return mean ? core.cycles / mean - 1 : 0;
      case 'late': return core.late - first;
      default: return core.riscs[Number(grid.metric.slice(5))] || null;
    }
  });
}

function lostOfCore(core) {
  const device = devices[grid.device];
  if (grid.op < 0) return facts.cores[grid.device].lost_records[core];
  const { losses } = facts;
  return losses.lane.reduce((sum, place, i) => sum + (place && place[0] === grid.device
    && device.lanes.core[place[1]] === core && losses.program[i] === ops.program[grid.op]
    ? lostRecords(losses, i) : 0), 0);
}

/** Bytes that a core read or wrote over the NoCs in all ops. */
function trafficOfCore(core) {
  const device = devices[grid.device], place = device.coreLabel(core);
  const own = facts.noc.cores.filter((row) => row.chip_id === device.chip_id && row.core.join('-') === place);
  return own.length ? own.reduce((sum, row) => sum + row[`${grid.metric}_bytes`], 0) : null;
}

function gridText(value) {
  if (grid.metric === 'read' || grid.metric === 'written') return value === null ? 'no NoC events' : bytesShort(value);
  if (value === null) return 'no kernel';
  if (grid.metric === 'imbalance') return `${value < 0 ? '−' : '+'}${percentText(Math.abs(value))}`;
  if (grid.metric === 'lost') return counted(value, 'record');
  return cyclesWords(Math.round(value), devices[grid.device]);
}

/** A colour for a share of the range, from calm to strong; both sides of 0 for imbalance. */
function gridColour(share) {
  if (grid.metric === 'lost') return share ? `oklch(${isDark.matches ? 0.62 : 0.64} ${0.05 + 0.13 * share} 28)` : colour('cell');
  return grid.metric === 'imbalance' ? rampColour(Math.abs(share), share < 0 ? 245 : 55) : rampColour(share);
}

/** A colour for a share from calm to strong. */
function rampColour(strength, hue = 245) {
  return isDark.matches
    ? `oklch(${0.30 + 0.44 * strength} ${0.02 + 0.10 * strength} ${hue})`
    : `oklch(${0.95 - 0.45 * strength} ${0.015 + 0.115 * strength} ${hue})`;
}

function buildGrid() {
  const section = byId('cores');
  const metric = choice('What the cores show', GRID_METRICS, (value) => { grid.metric = value; drawGrid(); });
  const controls = [metric];
  if (devices.length > 1) {
    grid.deviceChoice = choice('Device', devices.map((device, i) => [String(i), device.label]), (value) => {
      grid.device = Number(value);
      grid.op = -1;
      drawGrid();
    });
    controls.unshift(grid.deviceChoice);
  }
  headOf('cores').append(...controls);
  grid.scope = h('p.muted.scope');
  grid.board = h('div.board', { role: 'grid', 'aria-label': 'Cores by their place on the NoC' });
  grid.legend = h('div.legend');
  grid.note = h('p.muted.note', { 'aria-live': 'polite' });
  section.append(grid.scope, grid.board, grid.legend, grid.note);
  grid.board.addEventListener('keydown', moveInGrid);
  unit.listeners.push(drawGrid);
  isDark.addEventListener('change', drawGrid);
  drawGrid();
}

function drawGrid() {
  const device = devices[grid.device];
  if (!device) return;
  const values = gridValues(gridCores());
  const known = values.filter((value) => value !== null);
  let low = Math.min(...known), high = Math.max(...known);
  const isEven = low === high;
  const reach = Math.max(Math.abs(low), Math.abs(high), 0.05);
  // A few percent must not look like the difference between night and day.
  const slack = Math.max(0, 0.15 * high - (high - low)) / 2;
  if (/^(kernel|risc-.+|read|written)$/.test(grid.metric) && !isEven) [low, high] = [low - slack, high + slack];
  const share = (value) => grid.metric === 'imbalance' ? value / reach
    : grid.metric === 'lost' || grid.metric === 'late' ? (high ? value / high : 0) : high > low ? (value - low) / (high - low) : 0.5;
  const columns = [...new Set(device.cores.map(([x]) => x))].sort((a, b) => a - b);
  const lines = [...new Set(device.cores.map(([, y]) => y))].sort((a, b) => a - b);
  grid.board.style.gridTemplateColumns = `max-content repeat(${columns.length}, minmax(0, 46px))`;
  const coreAt = new Map(device.cores.map(([x, y], core) => [`${x}-${y}`, core]));
  const head = h('div.grid-row', { role: 'row' }, h('span'), columns.map((x) => h('span.axis', { role: 'columnheader' }, x)));
  const rows = lines.map((y) => h('div.grid-row', { role: 'row' }, h('span.axis', { role: 'rowheader' }, y),
    columns.map((x) => gridCell(coreAt.get(`${x}-${y}`), values, share))));
  grid.board.replaceChildren(head, ...rows);
  grid.board.querySelector('button')?.setAttribute('tabindex', '0');
  drawLegend(known, isEven, share);
}

function gridCell(core, values, share) {
  if (core === undefined) return h('span.none', { role: 'gridcell' });
  const value = values[core], device = devices[grid.device];
  const text = `${device.coreLabel(core)}: ${gridText(value)}`;
  const cell = h('button.cell', {
    type: 'button', role: 'gridcell', tabIndex: -1, 'aria-label': text,
    onclick: () => showCore(grid.device, core),
    onmouseenter: () => { grid.note.textContent = text; },
    onfocus: () => { grid.note.textContent = text; },
  });
  if (value === null) cell.classList.add('idle');
  else cell.style.backgroundColor = gridColour(share(value));
  return cell;
}

/** The ramp from the least to the most that the cores have: its ends are values of cores. */
function drawLegend(known, isEven, share) {
  const op = grid.op;
  grid.scope.textContent = op >= 0 ? opLabel(op) : devices.length > 1 ? `all ops of ${devices[grid.device].label}` : 'all ops';
  grid.note.textContent = known.length ? 'A core opens its lanes in the timeline.' : 'No kernel ran here.';
  if (!known.length) { grid.legend.replaceChildren(); return; }
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const steps = isEven ? [] : Array.from({ length: 24 }, (_, i) => {
    const step = h('i');
    step.style.backgroundColor = gridColour(share(least + (most - least) * i / 23));
    return step;
  });
  grid.legend.replaceChildren(...isEven
    ? [h('span', {}, known.length > 1 ? `every core: ${gridText(least)}` : gridText(least))]
    : [h('span', {}, gridText(least)), h('span.ramp', { 'aria-hidden': 'true' }, steps), h('span', {}, gridText(most))]);
}

function moveInGrid(event) {
  const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const step = steps[event.key];
  const cell = event.target.closest('button.cell');
  if (!step || !cell) return;
  event.preventDefault();
  const rows = [...grid.board.querySelectorAll('.grid-row')].slice(1).map((row) => [...row.children].slice(1));
  let y = rows.findIndex((row) => row.includes(cell));
  let x = rows[y].indexOf(cell);
  do { x += step[0]; y += step[1]; } while (rows[y]?.[x] && rows[y][x].tagName !== 'BUTTON');
  const next = rows[y]?.[x];
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** Shows one op on the grid; -1 shows all. */
async function showOnGrid(op) {
  grid.op = op;
  if (op >= 0) {
    grid.device = ops.device[op];
    if (grid.deviceChoice) grid.deviceChoice.value = String(grid.device);
    const cells = await opDevice(op).opCells(opNumber(op));
    if (grid.op !== op) return;
    grid.cells = cells;
  }
  drawGrid();
}
