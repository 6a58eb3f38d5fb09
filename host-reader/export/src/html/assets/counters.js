// The hardware counters: metrics over cores, what they cannot see, and what was counted.

function buildCounters() {
  const section = byId('counters');
  const { metrics, counters, limits, problems } = facts.counters;
  if (!counters.name.length && !problems.length) { section.hidden = true; return; }
  if (metrics.op.length) {
    const statistic = (index, label) => ({ label, width: '10%', value: (row) => metrics.values[row]?.[index] ?? null, show: (row) => metrics.values[row] ? digitsText(metrics.values[row][index]) : '-' });
    const blind = (row) => metrics.limits[row].map((limit) => limits[limit]);
    const table = new Table({
      label: 'Metrics of hardware counters', noun: ['metric'], placeholder: 'Filter metrics', rows: upTo(metrics.op.length), minWidth: 900, height: 420,
      sort: { column: 0, isDown: false }, search: (row) => `${opLabel(metrics.op[row])} ${metrics.label[row]}`, onOpen: (row) => openOp(metrics.op[row]),
      columns: [
        { label: 'Op', isText: true, width: '16%', value: (row) => metrics.op[row], show: (row) => openButton(opLabel(metrics.op[row]), 'Show in the timeline') },
        { label: 'Metric', isText: true, width: '24%', value: (row) => metrics.label[row], show: (row) => h('span', { title: `Blind to: ${blind(row).join('; ')}` }, metrics.label[row]) },
        { label: 'Unit', isText: true, width: '7%', value: (row) => metrics.unit[row], show: (row) => metrics.unit[row] },
        { label: 'Cores', width: '7%', title: 'Cores that have the counters for it', value: (row) => metrics.cores[row], show: (row) => grouped(metrics.cores[row]) },
        statistic(0, 'Min'), statistic(1, 'Median'), statistic(2, 'Max'), statistic(3, 'Mean'),
        { label: 'Blind to', isText: true, width: '8%', title: 'What the metric cannot see, by the list below', value: (row) => metrics.limits[row].length, show: (row) => h('span', { title: blind(row).join('; ') }, metrics.limits[row].map(letterOf).join('')) },
      ],
    });
    headOf('counters').append(table.count, h('span.tools', {}, table.filter));
    const used = upTo(limits.length).filter((limit) => metrics.limits.some((own) => own.includes(limit)));
    section.append(table.scroller, h('ul', {}, used.map((limit) => h('li', {}, `${letterOf(limit)}: blind to ${limits[limit]}`))));
    for (const doubt of new Set(metrics.doubt.filter((text) => text))) {
      const names = new Set(metrics.label.filter((_, row) => metrics.doubt[row] === doubt));
      section.append(h('p.bad', {}, `In doubt: ${[...names].join(', ')}: ${doubt}.`));
    }
  }
  section.append(counterList(counters));
  for (const [problem, count] of problems) section.append(h('p.bad', {}, `${counted(count, 'counter')} could not be read: ${problem}.`));
}

/** A figure with four digits that matter; 0 is counted, not unknown. */
const digitsText = (value) => value === 0 ? '0' : Math.abs(value) >= 1000 ? grouped(value) : value.toFixed(Math.max(0, 3 - Math.max(0, Math.floor(Math.log10(Math.abs(value))))));

const letterOf = (limit) => String.fromCharCode(97 + limit);

function counterList({ op, name, group, samples, usable_samples: usable, counts, cycles }) {
  const count = (row, index) => counts[row] ? grouped(counts[row][index]) : 'not observable';
  const read = (row) => usable[row] === 0 || usable[row] === samples[row] ? grouped(samples[row]) : `${grouped(usable[row])} of ${grouped(samples[row])} usable`;
  const span = (row) => !cycles[row] ? 'unknown' : cycles[row][0] === cycles[row][1] ? grouped(cycles[row][0]) : `${grouped(cycles[row][0])} to ${grouped(cycles[row][1])}`;
  const rows = upTo(name.length).map((row) => h('tr', {}, h('td', {}, opLabel(op[row])), h('td', {}, name[row]), h('td', {}, group[row] ?? ''),
    h('td.number', {}, read(row)), h('td.number', {}, count(row, 0)), h('td.number', {}, count(row, 1)), h('td.number', {}, span(row))));
  const heads = ['Op', 'Counter', 'Group', 'Read', 'Fewest on a core', 'Most on a core', 'Of cycles'];
  return h('details', {}, h('summary', {}, counted(name.length, 'counter')), h('div.scroller', {}, h('table.plain', {},
    h('thead', {}, h('tr', {}, heads.map((text, index) => h(index > 2 ? 'th.number' : 'th', { scope: 'col' }, text)))), h('tbody', {}, rows))));
}
