// Ops by op code over the steady part, held against the limit of their shapes.

const { groups } = facts;
for (const group of groups) group.op = visible(group.op);

function buildGroups() {
  if (!groups.length) { byId('groups').hidden = true; return; }
  const longest = maximum(groups.map((group) => group.duration_ns));
  const column = (label, width, of, text, title) => ({ label, width, title, value: (row) => of(groups[row]), show: (row) => unknownOr(of(groups[row]), text) });
  const times = (group) => group.limit_ns === null || group.limit_kind !== 'exact' ? null : group.duration_ns / group.limit_ns;
  const columns = [
    { label: 'Op code', isText: true, width: '20%', title: 'A click on a row shows its longest op, and its ops below', value: (row) => groups[row].op, show: (row) => groups[row].op },
    column('Ops', '46px', (group) => group.op_count, grouped),
    { ...column('Time', '15%', (group) => group.duration_ns, timeText, 'Kernels on the device'), show: (row) => withBar(timeText(groups[row].duration_ns), groups[row].duration_ns / longest) },
    column('Share', '62px', (group) => group.percent, percent, "Of the kernels' time"),
    column('FLOPs', '62px', (group) => group.flops_percent, percent, 'Share of what the cores in use could compute'),
    { ...column('DRAM', '74px', (group) => group.dram_percent, percent, "Share of the chip's DRAM bandwidth"), show: (row) => unknownOr(groups[row].dram_percent, (value) => `${groups[row].is_dram_lower_bound ? '≥ ' : ''}${percent(value)}`) },
    groups.some((group) => group.noc_percent !== null) && nocColumn(column),
    { ...column('Bound', '62px', (group) => group.bound ?? '', String, 'Limit that the ops reach'), isText: true, show: (row) => unknownOr(groups[row].bound, String) },
    { ...column('Limit', '90px', (group) => group.limit_ns, timeText, 'Least time by the shapes of its ops, with all cores'), show: (row) => unknownOr(groups[row].limit_ns, (ns) => `${groups[row].limit_kind === 'exact' ? '' : '≥ '}${timeText(ns)}`) },
    column('× limit', '60px', times, (value) => value.toFixed(value < 10 ? 1 : 0), 'Time over the limit'),
    column('Cores', '92px', (group) => group.core_count, grouped, 'From the op on the fewest to the op on the most, and those available'),
  ].filter(Boolean);
  columns.at(-1).show = (row) => unknownOr(groups[row].core_count, () => coresText(groups[row]));
  const table = new Table({
    label: 'Op codes', columns, rows: upTo(groups.length), noun: ['op code'], sort: { column: 2, isDown: true }, height: 360, minWidth: 860,
    onOpen: pickGroup, onPick: pickGroup,
  });
  function pickGroup(row) {
    table.pick(row);
    opTable.filter.value = groups[row].op;
    opTable.refresh();
    const op = opOfGroup(groups[row]);
    if (op >= 0) pickOp(op);
  }
  headOf('groups').append(table.count);
  byId('groups').append(table.scroller);
}

/** The cores that the ops of a group use, from the op on the fewest to the one on the most. */
function coresText(group) {
  const { least_core_count: least, most_core_count: most, available_core_count: available } = group;
  const used = least < most ? `${least} to ${most}` : String(most);
  return available ? `${used} of ${available}` : used;
}

/** The use of the busiest link of the NoC, which may be more where not all bytes are known. */
const nocColumn = (column) => ({
  ...column('NoC', '74px', (group) => group.noc_percent, percent, "Share of the peak of the NoC's busiest link"),
  show: (row) => unknownOr(groups[row].noc_percent, (value) => `${groups[row].is_noc_lower_bound ? '≥ ' : ''}${percent(value)}`),
});
