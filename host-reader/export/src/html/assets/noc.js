// The NoC: who did what, who moved bytes to whom, and how full the links are.

const tileText = ([x, y]) => `${x}-${y}`;
const bytesText = (row) => `${row.is_lower_bound ? '≥ ' : ''}${grouped(row.bytes)}`;

function buildNoc() {
  const section = byId('noc');
  const { noc } = facts;
  if (!noc.activities.length && !noc.notes.length) { section.hidden = true; return; }
  const number = (rows, key, label, width, show = (row) => grouped(row[key])) => ({ label, width, value: (row) => rows[row][key] ?? null, show: (row) => rows[row][key] === null ? '' : show(rows[row]) });
  const text = (rows, key, label, width) => ({ label, isText: true, width, value: (row) => rows[row][key], show: (row) => rows[row][key] });
  const chip = (rows) => devices.length > 1 && number(rows, 'chip_id', 'Dev', '6%');
  const { activities, pairs } = noc;
  const events = new Table({
    label: 'NoC events', noun: ['row'], placeholder: 'Filter NoC events', rows: upTo(activities.length), minWidth: 820, height: 300, sort: { column: 0, isDown: false },
    search: (row) => Object.values(activities[row]).join(' '),
    columns: [chip(activities), number(activities, 'program', 'Program', '10%'), text(activities, 'op_name', 'Op', '14%'), text(activities, 'risc', 'RISC', '9%'), text(activities, 'noc', 'NoC', '8%'), text(activities, 'kind', 'Kind', '20%'),
      number(activities, 'cores', 'Cores', '8%'), number(activities, 'events', 'Events', '9%'), number(activities, 'bytes', 'Bytes', '12%', bytesText), number(activities, 'wait_cycles', 'Waited', '10%', (row) => cyclesText(row.wait_cycles))].filter(Boolean),
  });
  headOf('noc').append(events.count, h('span.muted.hint', {}, 'Bytes are rounded up to 32 for each transfer.'), h('span.tools', {}, events.filter));
  section.append(events.scroller);
  if (pairs.length) section.append(h('h3', {}, 'Who moves bytes to whom'), pairTable(pairs, number, text, chip));
  if (noc.links.length) section.append(h('h3', {}, 'Bytes over the links that leave each tile'), ...noc.grids.map(linkBoard).flat());
  const rest = [[noc.multicast_count, 'transfer', 'to several tiles at once'], [noc.unplaced_count, 'transfer', 'to a tile that is not known'], [noc.open_wait_count, 'wait', 'without an end']]
    .filter(([count]) => count).map(([count, noun, what]) => `${counted(count, noun)} ${what}`);
  if (rest.length) section.append(h('p', {}, `In no pair and on no link: ${rest.join(', ')}.`));
  for (const note of noc.notes) section.append(h('p.bad', {}, note));
}

function pairTable(pairs, number, text, chip) {
  const tile = (key, label) => ({ label, isText: true, width: '14%', value: (row) => tileText(pairs[row][key]), show: (row) => tileText(pairs[row][key]) });
  const most = maximum(pairs.map((pair) => pair.bytes));
  const columns = [chip(pairs), text(pairs, 'noc', 'NoC', '12%'), tile('from', 'From'), tile('to', 'To'), number(pairs, 'transfers', 'Transfers', '16%'), number(pairs, 'bytes', 'Bytes', '30%', (row) => withBar(grouped(row.bytes), row.bytes / most))].filter(Boolean);
  return new Table({ label: 'Pairs of tiles', noun: ['pair'], rows: upTo(pairs.length), columns, height: 260, sort: { column: columns.length - 1, isDown: true } }).scroller;
}

/** The tiles of a chip, once for each NoC: the more bytes leave a tile, the stronger its colour. */
function linkBoard([chipId, columnCount, rowCount]) {
  return ['NOC_0', 'NOC_1'].map((name) => {
    const links = facts.noc.links.filter((link) => link.chip_id === chipId && link.noc === name);
    if (!links.length) return '';
    const tiles = new Map();
    for (const link of links) {
      const key = tileText(link.tile);
      if (!tiles.has(key)) tiles.set(key, []);
      tiles.get(key).push(link);
    }
    const total = (list) => list.reduce((sum, link) => sum + link.bytes, 0);
    const most = maximum([...tiles.values()].map(total));
    const cell = (x, y) => {
      const list = tiles.get(tileText([x, y])) ?? [];
      const words = list.map((link) => `${link.direction} ${grouped(link.bytes)}`).join(', ');
      const element = h('td.number', { title: `${x}-${y}: ${words || 'nothing'}` }, list.length ? grouped(total(list)) : '');
      if (list.length) element.style.backgroundColor = gridColour(total(list) / most);
      return element;
    };
    const rows = upTo(rowCount).map((y) => h('tr', {}, h('th', { scope: 'row' }, String(y)), upTo(columnCount).map((x) => cell(x, y))));
    return h('div.scroller', {}, h('table.plain', {}, h('caption', {}, `${name}${devices.length > 1 ? ` of device ${chipId}` : ''}, by column and row`),
      h('thead', {}, h('tr', {}, h('th', {}, ''), upTo(columnCount).map((x) => h('th.number', { scope: 'col' }, String(x))))), h('tbody', {}, rows)));
  });
}
