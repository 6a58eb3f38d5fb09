// The NoC: who did what, who moved bytes to whom, and how full the links are.

const tileText = ([x, y]) => `${x}-${y}`;
const bytesText = (bytes, isLowerBound) => `${isLowerBound ? '≥ ' : ''}${grouped(bytes)}`;

/** Columns of rows that are objects. */
const nocColumns = (rows) => ({
  number: (key, label, width, show = (row) => grouped(row[key])) => ({ label, width, value: (row) => rows[row][key] ?? null, show: (row) => rows[row][key] === null ? '' : show(rows[row]) }),
  text: (key, label, width) => ({ label, isText: true, width, value: (row) => rows[row][key], show: (row) => rows[row][key] }),
  tile: (key, label, width) => ({ label, isText: true, width, value: (row) => tileText(rows[row][key]), show: (row) => tileText(rows[row][key]) }),
  chip: () => devices.length > 1 && { label: 'Dev', width: '6%', value: (row) => rows[row].chip_id, show: (row) => String(rows[row].chip_id) },
});

function buildNoc() {
  const section = byId('noc');
  const { noc } = facts;
  if (!noc.activities.length && !noc.notes.length) { section.hidden = true; return; }
  const events = activityTable(noc.activities);
  headOf('noc').append(events.count, h('span.muted.hint', {}, 'Bytes are rounded up to 32 for each transfer.'), h('span.tools', {}, events.filter));
  section.append(events.scroller);
  if (noc.cores.length) section.append(h('h3.sub', {}, 'By core'), coreTable(noc.cores));
  if (noc.pairs.length) section.append(h('h3.sub', {}, 'Who moves bytes to whom'), pairTable(noc.pairs));
  if (noc.links.length) section.append(h('h3.sub', {}, 'Bytes over the links that leave each tile'), h('div.link-boards', {}, noc.grids.map(linkBoards).flat()));
  if (noc.outside.length) section.append(h('h3.sub', {}, 'Bytes in no pair of tiles and on no link'), outsideTable(noc.outside));
  const rest = [[noc.unplaced_count, 'transfer', 'to a tile that is not known'], [noc.open_wait_count, 'wait', 'without an end']]
    .filter(([count]) => count).map(([count, noun, what]) => `${counted(count, noun)} ${what}`);
  if (rest.length) section.append(h('p.sub', {}, `In no pair and on no link: ${rest.join(', ')}.`));
  for (const note of noc.notes) section.append(h('p.bad', {}, note));
}

/** Bytes of events that no pair and no link has, each with the reason. */
function outsideTable(rows) {
  const cells = rows.map((row) => h('tr', {}, h('td', {}, String(row.chip_id)), h('td', {}, row.noc), h('td', {}, row.kind), h('td.number', {}, grouped(row.events)), h('td.number', {}, grouped(row.bytes)), h('td', {}, row.reason)));
  const heads = ['Dev', 'NoC', 'Kind', 'Events', 'Bytes', 'Why'];
  return h('div.scroller', {}, h('table.plain', {}, h('thead', {}, h('tr', {}, heads.map((text, index) => h(index === 3 || index === 4 ? 'th.number' : 'th', { scope: 'col' }, text)))), h('tbody', {}, cells)));
}

function activityTable(rows) {
  const { number, text, chip } = nocColumns(rows);
  const hasNames = rows.some((row) => row.op_name);
  return new Table({
    label: 'NoC events', noun: ['row'], placeholder: 'Filter NoC events', rows: upTo(rows.length), minWidth: 820, height: 300, sort: { column: devices.length > 1 ? 1 : 0, isDown: false },
    search: (row) => Object.values(rows[row]).join(' '),
    columns: [chip(), { ...number('program', 'Program', '10%', (row) => String(row.program)), isText: true }, hasNames && text('op_name', 'Op', '14%'), text('risc', 'RISC', '10%'), text('noc', 'NoC', '8%'), text('kind', 'Kind', '22%'),
      number('cores', 'Cores', '8%'), number('events', 'Events', '9%'), number('bytes', 'Bytes', '12%', (row) => row.bytes ? bytesText(row.bytes, row.is_lower_bound) : ''), number('wait_cycles', 'Waited', '10%', (row) => cyclesText(row.wait_cycles))].filter(Boolean),
  });
}

/** What each RISC of a core asked for over each NoC. */
function coreTable(rows) {
  const { number, text, tile, chip } = nocColumns(rows);
  const bytes = (key, label) => number(key, label, '16%', (row) => row[key] ? bytesText(row[key], row.is_lower_bound) : '');
  const columns = [chip(), tile('core', 'Core', '12%'), text('risc', 'RISC', '12%'), text('noc', 'NoC', '12%'), number('transfers', 'Transfers', '14%'),
    bytes('read_bytes', 'Bytes read'), bytes('written_bytes', 'Bytes written'), number('wait_cycles', 'Waited', '14%', (row) => cyclesText(row.wait_cycles))].filter(Boolean);
  const bytesRead = columns.findIndex((column) => column.label === 'Bytes read');
  return new Table({ label: 'NoC by core', noun: ['row'], rows: upTo(rows.length), columns, height: 240, sort: { column: bytesRead, isDown: true } }).scroller;
}

function pairTable(rows) {
  const { number, text, tile, chip } = nocColumns(rows);
  const most = maximum(rows.map((row) => row.bytes));
  const columns = [chip(), text('noc', 'NoC', '12%'), tile('from', 'From', '14%'), tile('to', 'To', '14%'), number('transfers', 'Transfers', '16%'), number('bytes', 'Bytes', '30%', (row) => withBar(grouped(row.bytes), row.bytes / most))].filter(Boolean);
  return new Table({ label: 'Pairs of tiles', noun: ['pair'], rows: upTo(rows.length), columns, height: 240, sort: { column: columns.length - 1, isDown: true } }).scroller;
}

const ARROWS = { east: '→', south: '↓', west: '←', north: '↑' };

/** The tiles of a chip, once for each NoC: the busier the busiest link that leaves a tile, the stronger its colour. */
function linkBoards([chipId, columnCount, rowCount]) {
  const own = facts.noc.links.filter((link) => link.chip_id === chipId);
  const most = maximum(own.map((link) => link.bytes));
  return [...new Set(own.map((link) => link.noc))].map((name) => {
    const tiles = new Map();
    for (const link of own.filter((link) => link.noc === name)) {
      const key = tileText(link.tile);
      tiles.set(key, [...(tiles.get(key) ?? []), link]);
    }
    const rows = upTo(rowCount).map((y) => h('tr', {}, h('th', { scope: 'row' }, String(y)), upTo(columnCount).map((x) => linkCell(tiles.get(`${x}-${y}`), `${x}-${y}`, most))));
    return h('figure', {}, h('figcaption', {}, `${name}${devices.length > 1 ? ` of device ${chipId}` : ''}: busiest link ${bytesShort(maximum([...tiles.values()].flat().map((link) => link.bytes)))}`),
      h('table.links', {}, h('thead', {}, h('tr', {}, h('th', {}, ''), upTo(columnCount).map((x) => h('th', { scope: 'col' }, String(x))))), h('tbody', {}, rows)));
  });
}

function linkCell(links, tile, most) {
  if (!links) return h('td.nothing', { title: `${tile}: nothing` }, '');
  const share = maximum(links.map((link) => link.bytes)) / most;
  const words = links.map((link) => `${link.direction} ${grouped(link.bytes)} bytes`).join(', ');
  const cell = h(share > 0.6 ? 'td.strong' : 'td', { title: `${tile}: ${words}`, 'aria-label': `${tile}: ${words}` }, links.map((link) => ARROWS[link.direction]).join(''));
  cell.style.backgroundColor = rampColour(share);
  return cell;
}
