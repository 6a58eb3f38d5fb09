// Where the cycles of an op's kernels went in their source: the table of lines, by file and RISC.

const sourceView = { body: null };

function buildSource() {
  const section = byId('source');
  if (!facts.source.length) { section.hidden = true; return; }
  headOf('source').append(h('span.muted.hint', {}, facts.source.some((program) => program.is_sampled) ? 'Samples of all launches of the program, over all cores; lines without any are left out.' : 'Cycles of all launches of the program, over all cores; lines without any are left out.'));
  sourceView.body = h('div', {});
  section.append(sourceView.body);
  showSource(opPage.op);
}

/** The lines of an op's program; undefined if none were counted. */
const sourceOf = (op) => facts.source.find((program) => program.program === ops.program[op] && program.chip_id === opDevice(op).chip_id);

/** A link from an op to its lines. */
function sourceLink(op) {
  const program = sourceOf(op);
  if (!program?.lines.cycles.length) return null;
  const { lines } = program, most = upTo(lines.cycles.length).reduce((best, row) => lines.cycles[row] > lines.cycles[best] ? row : best, 0);
  const where = `${sourcePlace(lines, most)}, ${percentText(lines.cycles[most] / program.total_cycles)}`;
  return pair(program.is_sampled ? 'Most samples at' : 'Most cycles at', h('button.link', { type: 'button', title: 'Show the source lines', onclick: () => byId('source').scrollIntoView({ block: 'start' }) }, where));
}

/** Cycles that are sums over RISCs, and no time; or samples. */
const sourceSum = ({ is_sampled: isSampled }, cycles) => `${grouped(cycles)} ${isSampled ? 'samples' : 'cycles'}`;
const fileName = (path) => path.split(/[\\/]/).at(-1);

function sourcePlace({ file, line, function: name, risc }, row) {
  const place = file[row] === null ? name[row] : `${fileName(file[row])}${line[row] === null ? '' : `:${line[row]}`}`;
  return `${visible(place)} (${risc[row]})`;
}

function showSource(op) {
  if (!sourceView.body || op < 0) return;
  byId('source-title').textContent = `Source of ${opLabel(op)}`;
  const program = sourceOf(op);
  if (!program) { sourceView.body.replaceChildren(h('p.muted', {}, 'The table of lines has none of this op.')); return; }
  const { lines, total_cycles: total, firmware_cycles: firmware, left_out: [hidden, hiddenCycles] } = program;
  const parts = new Map();
  for (const row of upTo(lines.cycles.length)) {
    const key = `${lines.risc[row]}\n${lines.file[row] ?? ''}`;
    if (!parts.has(key)) parts.set(key, []);
    parts.get(key).push(row);
  }
  const cyclesOf = (rows) => rows.reduce((sum, row) => sum + lines.cycles[row], 0);
  const shown = [...parts.values()].sort((a, b) => cyclesOf(b) - cyclesOf(a));
  const most = maximum(lines.cycles);
  const rest = [
    firmware > 0 && `Firmware: ${sourceSum(program, firmware)}, ${percentText(firmware / total)}; its lines are not shown.`,
    hidden > 0 && `${counted(hidden, 'more line')} with fewer ${program.is_sampled ? 'samples' : 'cycles'}, ${sourceSum(program, hiddenCycles)} together.`,
  ].filter(Boolean);
  sourceView.body.replaceChildren(h('p', {}, `${sourceSum(program, total)} of all RISCs; shares are ${program.is_sampled ? 'estimates from these' : 'of these'}.`),
    ...shown.map((rows) => sourceFile(program, rows, { total, most, cycles: cyclesOf(rows) })), ...rest.map((words) => h('p.muted', {}, words)));
}

/** The lines of one file in the code of one RISC, in order. */
function sourceFile(program, rows, { total, most, cycles }) {
  const { lines } = program, { file, line } = lines;
  rows.sort((a, b) => (line[a] ?? 0) - (line[b] ?? 0));
  const name = file[rows[0]];
  const head = h('h3.sub', { title: name === null ? '' : visible(name) }, `${name === null ? 'No known line' : visible(fileName(name))}, ${lines.risc[rows[0]]}: ${sourceSum(program, cycles)}, ${percentText(cycles / total)}`);
  let last = null;
  const cells = rows.map((row) => {
    const isGap = last !== null && line[row] !== null && line[row] > last + 1;
    last = line[row];
    const share = h('td.number.heat', {}, percentText(lines.cycles[row] / total));
    share.style.backgroundColor = `color-mix(in srgb, var(--bad) ${Math.round(60 * lines.cycles[row] / (most || 1))}%, transparent)`;
    const text = lines.text[row] === null ? h('span.muted', {}, visible(lines.function[row])) : h('code', {}, visible(lines.text[row]));
    return h(isGap ? 'tr.gap' : 'tr', {}, h('td.number', {}, grouped(lines.cycles[row])), share, h('td.number', {}, line[row] === null ? '' : String(line[row])),
      h('td.code', { title: visible(lines.function[row]) }, text), h('td', {}, visible(lines.cause[row])), h('td.muted', {}, lines.code[row] === 'kernel' ? '' : lines.code[row]));
  });
  const heads = [[program.is_sampled ? 'Samples' : 'Cycles'], ['Share'], ['Line'], ['Source'], ['Mainly', `What most of its ${program.is_sampled ? 'samples show' : 'cycles were spent on'}`], ['']];
  return h('div', {}, head, h('div.scroller.source', {}, h('table.plain', {}, h('thead', {}, h('tr', {}, heads.map(([text, title], index) => h(index < 3 ? 'th.number' : 'th', { scope: 'col', title: title ?? '' }, text)))), h('tbody', {}, cells))));
}
