// The page of an ops CSV: its op codes, its ops with their bounds, the gaps, and what a CSV cannot tell.

let opTable;
const atLeast = (isLowerBound) => (isLowerBound ? '≥ ' : '');
function showOp(op, title) {
  byId('op-title').textContent = title;
  byId('op').replaceChildren(headOf('op'), opFacts(op));
  markPoint(op);
}
function pickOp(op) {
  opTable.pick(op);
  showOp(op, 'Op');
}
const opLink = (op, before = '') => h('a', { href: '#op', onclick: () => pickOp(op) }, before + opLabel(op));

function buildOps() {
  const longest = maximum(ops.time_ns), longestGap = maximum(ops.gap_ns), nameWidth = widthOfNames(ops.name);
  const column = (label, width, values, text, title) => ({ label, width, title, value: (op) => values[op], show: (op) => unknownOr(values[op], text) });
  const columns = [
    { label: 'Op', isText: true, width: `${nameWidth}px`, title: 'A click on a row shows its shapes', value: opLabel, show: (op) => ops.name[op] },
    column('Row', '56px', ops.id, grouped, 'Row of the CSV, as a spreadsheet counts'),
    devices.length > 1 && column('Dev', '48px', ops.device, String),
    { ...column('Time', '112px', ops.time_ns, timeText, 'Kernels on the device'), show: (op) => unknownOr(ops.time_ns[op], (ns) => withBar(timeText(ns), ns / longest)) },
    { ...column('Gap before', '112px', ops.gap_ns, timeText, 'From the end of the op before'), show: (op) => unknownOr(ops.gap_ns[op], (ns) => withBar(timeText(ns), ns / longestGap, 'quiet')) },
    column('Share', '64px', ops.total_percent, percent, 'Of the time of all rows, gaps included'),
    { label: 'Bound', isText: true, width: '64px', title: 'What limits its speed, as far as the model goes', value: (op) => ops.bound[op] ?? '', show: (op) => unknownOr(ops.bound[op], String) },
    { ...column('DRAM', '72px', ops.dram_percent, percent, "Share of the chip's DRAM bandwidth"), show: (op) => unknownOr(ops.dram_percent[op], (value) => `${atLeast(ops.is_dram_lower_bound[op])}${percent(value)}`) },
    { ...column('GB/s', '64px', ops.dram_gb_per_s, number(1), 'Modelled DRAM traffic'), show: (op) => unknownOr(ops.dram_gb_per_s[op], (value) => `${atLeast(ops.is_dram_lower_bound[op])}${number(1)(value)}`) },
    column('FLOPs', '72px', ops.flops_percent, percent, 'Share of what its cores could compute'),
    column('TFLOPs', '66px', ops.tflops, number(1)),
    column('Cores', '56px', ops.core_count, grouped),
  ].filter(Boolean);
  opTable = new Table({
    label: 'Ops', columns, rows: steadyOps, noun: ['op'], placeholder: 'Filter ops', sort: { column: 1, isDown: false },
    search: (op) => `${opLabel(op)} ${ops.bound[op] ?? ''} ${ops.source[op]} ${ops.others[op].join(' ')}`, height: 446, minWidth: 786 + nameWidth, onOpen: pickOp, onPick: pickOp,
  });
  const all = [['steady', 'Steady part'], ['all', 'All rows']];
  const which = facts.steady && choice('Rows', all, (value) => {
    opTable.all = value === 'all' ? upTo(opCount) : steadyOps;
    opTable.refresh();
  });
  headOf('ops').append(...[opTable.count, h('span.tools', {}, which || '', opTable.filter)]);
  byId('ops').append(opTable.scroller);
}

function opFacts(op) {
  const pair = (term, text) => text && h('div', {}, h('dt', {}, term), h('dd', {}, visible(text)));
  return h('div', {}, h('h3', {}, opLabel(op)),
    h('dl.figures', {}, pair('Tensors', ops.source[op]), pair('Math fidelity', ops.fidelity[op]), pair('Category', ops.category[op] ?? ''), pair('Call', ops.call[op]),
      pair('Limit of its shape', ops.limit_ns[op] === null ? '' : `${ops.is_limit_exact[op] ? '' : '≥ '}${timeText(ops.limit_ns[op])} by ${ops.is_flops_limit[op] ? 'FLOPs' : 'DRAM'}`)),
    ops.others[op].map((cell) => h('p.muted', {}, visible(cell))),
    ops.advice[op].map((advice) => h('p', {}, visible(advice))), groupReasons(op));
}

/** Facts that cost the ops of an op's code time, with what to change. */
function groupReasons(op) {
  const group = groups.find(({ rows }) => rows.includes(ops.id[op]));
  if (!group?.reasons.length) return '';
  return h('ul', {}, group.reasons.map(({ fact, advice }) => h('li', {}, `${visible(group.op)}: ${visible(fact)}. `, h('span.muted', {}, visible(advice)))));
}

function buildSummary() {
  byId('title').textContent = visible(facts.title) || 'Ops';
  const hosts = ops.is_host.filter(Boolean).length;
  byId('subject').textContent = [
    facts.arch ? visible(facts.arch) : 'architecture unknown', facts.worker_cores && counted(facts.worker_cores, 'worker core'),
    counted(opCount - hosts, 'op'), hosts && `${counted(hosts, 'op')} of the host`, devices.length > 1 && counted(devices.length, 'device'),
  ].filter(Boolean).join(' · ');
  byId('foot').textContent = `Written by ${facts.exporter}. This page is self-contained: it needs no network.`;
  const section = byId('summary');
  const lacks = [
    facts.invalid_count && `${counted(facts.invalid_count, 'op')} without a duration that can be`,
    facts.skipped_line_count && `${counted(facts.skipped_line_count, 'line')} left out`,
    facts.problem_count && counted(facts.problem_count, 'problem'),
  ].filter(Boolean);
  section.append(h(lacks.length ? 'p.verdict.doubtful' : 'p.verdict.unknown', {},
    lacks.length ? [h('strong', {}, listed(lacks)), ': ', h('a', { href: '#notes' }, 'what exactly'), '. '] : '', h('strong', {}, facts.lost), '.'));
  buildFindings();
  const known = steadyOps.filter((op) => ops.op_to_op_latency_cycles[op] !== null);
  const longestGap = known.reduce((best, op) => best < 0 || ops.gap_ns[op] > ops.gap_ns[best] ? op : best, -1);
  const slowest = steadyOps.reduce((best, op) => ops.time_ns[op] !== null && (best < 0 || ops.time_ns[op] > ops.time_ns[best]) ? op : best, -1);
  const sum = (values) => steadyOps.reduce((total, op) => total + (values[op] ?? 0), 0);
  const gaps = ops.latency_doubt.filter((doubt) => doubt !== null).length, noTimes = steadyOps.filter((op) => !ops.is_host[op] && ops.time_ns[op] === null).length;
  section.append(h('dl.figures', {},
    slowest >= 0 && figure('Kernels ran', `${atLeast(noTimes)}${timeText(sum(ops.time_ns))}`, noTimes ? `${counted(noTimes, 'op')} not known` : ''),
    known.length > 0 && figure('Between ops', `${atLeast(gaps)}${timeText(sum(ops.op_to_op_latency_cycles))}`, gaps ? `${counted(gaps, 'gap')} not known` : ''),
    longestGap >= 0 && figure(gaps ? 'Longest known gap' : 'Longest gap', opLink(longestGap, 'before '), timeText(ops.gap_ns[longestGap])),
    slowest >= 0 && figure('Slowest', opLink(slowest), timeText(ops.time_ns[slowest])),
    !facts.steady && facts.dram_percent !== null && figure('DRAM', `${atLeast(facts.is_dram_lower_bound)}${facts.dram_percent.toFixed(1)} %`, `${atLeast(facts.is_dram_lower_bound)}${facts.dram_gb_per_s.toFixed(1)} GB/s while kernels ran`)));
  if (facts.causes.devices.length) section.append(deviceClasses());
  return slowest;
}

function buildNotes() {
  byId('absent').append(h('table.plain', {}, h('tbody', {}, facts.absent.map(([what, how]) => h('tr', {}, h('th', { scope: 'row' }, what), h('td', {}, how))))));
  const rest = facts.problem_count - facts.problems.length;
  const notes = [...facts.notes, ...facts.problems, ...(rest ? [`and ${counted(rest, 'more problem')}`] : [])];
  byId('notes').append(...notes.map((note) => h('p', {}, visible(note))));
  byId('notes').hidden = !notes.length;
}

const slowest = buildSummary();
buildOps();
buildGroups();
buildModules();
buildRoofline();
buildGaps();
buildComparison();
buildNotes();
if (slowest >= 0) showOp(slowest, 'Slowest op');
else byId('op').hidden = true;
for (const link of document.querySelectorAll('#bar a')) {
  if (document.querySelector(link.getAttribute('href')).hidden) link.parentElement.remove();
}
document.documentElement.dataset.ready = 'true';
