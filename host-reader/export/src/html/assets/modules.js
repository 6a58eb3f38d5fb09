// The modules of a model, as a tree: each with the time of the ops that it calls, over the steady part.

const modules = facts.modules?.groups ?? [];
/** For each row the row that contains it; -1 for a module that is part of no other. */
const outerModules = (() => {
  const path = [];
  return modules.map((group, row) => {
    path.length = group.depth;
    path.push(row);
    return group.depth ? path[group.depth - 1] : -1;
  });
})();
const hasInner = (row) => row + 1 < modules.length && outerModules[row + 1] === row;

/** The name of a row: its op code, or the last part of its path. */
function moduleName(row) {
  const { op, value } = modules[row];
  if (op !== null) return visible(op);
  if (value === null) return 'no module';
  const outer = outerModules[row] < 0 ? '' : `${modules[outerModules[row]].value}.`;
  return visible(value.slice(outer.length));
}

function buildModules() {
  if (!modules.some((group) => group.value !== null)) { byId('modules').hidden = true; return; }
  const opened = new Set(), isTimed = (group) => group.untimed_count < group.op_count;
  const isShown = (row) => outerModules[row] < 0 || (opened.has(outerModules[row]) && isShown(outerModules[row]));
  // What a reader sees first: the levels that have no choice, and the first that has one.
  for (let level = 0, rows = upTo(modules.length).filter((row) => outerModules[row] < 0); level < 8 && rows.length < 12; level++) {
    const inner = upTo(modules.length).filter((row) => rows.includes(outerModules[row]));
    if (!inner.length || inner.every((row) => modules[row].op !== null) || (level && rows.length + inner.length > 24)) break;
    for (const row of rows) if (hasInner(row)) opened.add(row);
    rows = inner;
  }
  const longest = maximum(modules.map((group) => group.device_time_us));
  const column = (label, width, of, text, title) => ({ label, width, title, value: (row) => of(modules[row]), show: (row) => unknownOr(of(modules[row]), text) });
  const time = (us) => timeText(us * 1000), timed = (of) => (group) => isTimed(group) ? of(group) : null;
  const columns = [
    { label: 'Module', isText: true, width: '34%', title: 'In the order of the calls. A click on a row filters the ops', value: (row) => row, show: nameCell },
    column('Ops', '56px', (group) => group.op_count, grouped),
    { ...column('Time', '22%', timed((group) => group.device_time_us), time, 'Kernels on the device, of all calls within'), show: (row) => unknownOr(timed((group) => group.device_time_us)(modules[row]), (us) => withBar(time(us), us / longest)) },
    facts.modules.iteration_count !== null && column('Per iteration', '92px', (group) => group.device_time_per_iteration_us, time, `Kernels of an iteration, mean of ${facts.modules.iteration_count}`),
    column('Share', '62px', timed((group) => group.percent), percent, "Of the kernels' time"),
    column('Host', '84px', (group) => group.host_time_us, time, 'Time of the host in the calls'),
    column('FLOPs', '62px', (group) => group.flops_percent, percent, 'Share of what the cores in use could compute'),
    { ...column('DRAM', '76px', (group) => group.dram_percent, percent, "Share of the chip's DRAM bandwidth"), show: (row) => unknownOr(modules[row].dram_percent, (value) => `${modules[row].is_dram_lower_bound ? '≥ ' : ''}${percent(value)}`) },
  ].filter(Boolean);
  const shown = () => upTo(modules.length).filter(isShown);
  const table = new Table({
    label: 'Modules', columns, rows: shown(), noun: ['row'], sort: { column: 0, isDown: false }, height: 446, minWidth: 720,
    onOpen: toggle, onPick: pickModule,
  });
  function nameCell(row) {
    const mark = hasInner(row) ? (opened.has(row) ? '▾' : '▸') : '';
    const label = `${opened.has(row) ? 'Close' : 'Open'} ${moduleName(row)}`;
    const button = mark && h('button.open.twist', { type: 'button', title: label, 'aria-label': label, 'aria-expanded': String(opened.has(row)) }, mark);
    const name = modules[row].op === null ? moduleName(row) : h('span.muted', {}, moduleName(row));
    return h('span.branch', { title: visible(modules[row].value ?? ''), style: { paddingLeft: `${modules[row].depth * 14}px` } }, button || h('span.twist'), name);
  }
  function toggle(row) {
    if (!hasInner(row)) return;
    if (!opened.delete(row)) opened.add(row);
    table.all = shown();
    table.refresh();
  }
  function pickModule(row) {
    table.pick(row);
    const { op, value } = modules[row];
    // A log's ops have no modules, though an ops CSV beside it has.
    const isNamed = ops.others || ops.module.some((module) => module !== null);
    opTable.filter.value = [isNamed && value, op].filter(Boolean).join(' ');
    opTable.refresh();
  }
  const unknown = modules.find((group) => group.value === null && group.depth === 0);
  const { iteration_count: iterations, no_iterations: why, outside_iterations_count: outside } = facts.modules;
  const perIteration = iterations === null ? `no time per iteration: ${why}` : `${counted(iterations, 'iteration')}${outside ? ` without ${counted(outside, 'op')}` : ''}`;
  headOf('modules').append(h('span.muted', {}, [unknown ? `${counted(unknown.op_count, 'op')} of no module` : 'every op has a module', perIteration].join('; ')));
  byId('modules').append(table.scroller);
}
