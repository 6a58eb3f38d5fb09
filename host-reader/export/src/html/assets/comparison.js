// What changed against another recording: the same figures as `kprof diff`.

function buildComparison() {
  const section = byId('comparison'), { comparison } = facts;
  if (!comparison) { section.hidden = true; return; }
  comparison.title = visible(comparison.title);
  const { changes } = comparison;
  for (const change of changes) change.name = visible(change.name);
  byId('comparison-title').textContent = `Comparison with ${comparison.title}`;
  const significant = changes.filter((change) => change.certainty === 'significant');
  const slower = significant.filter((change) => change.ratio > 1).length;
  const words = [`${counted(changes.length, 'op or zone', 'ops and zones')} in both: ${grouped(slower)} significantly slower there, ${grouped(significant.length - slower)} significantly faster. `,
    `A is this recording, B is ${comparison.title}; durations are geometric means. `,
    ...comparison.elapsed.map((of) => `An iteration with its gaps on ${visible(of.place)}: A ${timeText(of.a_ns)}, B ${timeText(of.b_ns)}, ${of.ratio.toFixed(3)} ×. `)];
  const inRun = (change) => change.zones_per_run ? ` (sum of ${change.zones_per_run.map((count) => +count.toFixed(2)).join(' and ')} in a kernel run)` : '';
  const number = (key, label, title) => ({ label, title, width: '11%', value: (row) => changes[row][key], show: (row) => timeText(changes[row][key]) });
  const most = maximum(changes.map((change) => Math.abs(Math.log(change.ratio))));
  const table = new Table({
    label: 'Changes', noun: ['row'], placeholder: 'Filter ops and zones', rows: upTo(changes.length), minWidth: 900, height: 420, sort: { column: 8, isDown: false },
    search: (row) => `${changes[row].kind} ${changes[row].place} ${changes[row].name} ${changes[row].source} ${CERTAINTY[changes[row].certainty][1]}`,
    columns: [
      { label: 'Kind', isText: true, width: '6%', value: (row) => changes[row].kind, show: (row) => changes[row].kind },
      { label: 'Name', isText: true, width: '20%', value: (row) => changes[row].name, show: (row) => h('span', { title: changes[row].source }, changes[row].name + inRun(changes[row])) },
      { label: 'Where', isText: true, width: '13%', value: (row) => changes[row].place, show: (row) => changes[row].place },
      number('a_ns', 'A'), number('b_ns', 'B'),
      { label: 'B / A', width: '14%', value: (row) => changes[row].ratio, show: (row) => changeBar(changes[row], most) },
      { label: 'Interval', width: '13%', title: 'In which the ratio lies with 95 % confidence', value: (row) => changes[row].interval?.[0] ?? null, show: (row) => changes[row].interval ? changes[row].interval.map((end) => end.toFixed(3)).join(' to ') : '–' },
      { label: 'n', width: '8%', title: 'Repetitions in A and B', value: (row) => changes[row].repetitions[0], show: (row) => changes[row].repetitions.map(grouped).join(', ') },
      { label: 'Verdict', isText: true, width: '16%', value: (row) => `${CERTAINTY[changes[row].certainty][0]} ${String(1e6 - Math.abs(Math.log(changes[row].ratio)) * 1e3).padStart(12, '0')}`, show: (row) => verdictOf(changes[row]) },
    ],
  });
  headOf('comparison').append(table.count, h('span.tools', {}, table.filter));
  section.append(h('p', {}, words), table.scroller, onlyOnOneSide('A', comparison.only_a), onlyOnOneSide('B', comparison.only_b));
}

/** How sure a change is: by rank, in words. */
const CERTAINTY = { significant: [0, 'significant'], single_repetition: [1, 'one repetition, no test'], not_significant: [2, 'no significant change'] };

const verdictOf = (change) => {
  const words = CERTAINTY[change.certainty][1];
  if (change.certainty !== 'significant') return h('span.muted', {}, words);
  return change.ratio > 1 ? h('span.worse', {}, 'slower') : h('span.better', {}, 'faster');
};

function changeBar(change, most) {
  const share = Math.abs(Math.log(change.ratio)) / most;
  return withBar(`${change.ratio.toFixed(3)} ×`, change.certainty === 'not_significant' ? 0 : share, change.ratio > 1 ? '' : 'quiet');
}

function onlyOnOneSide(side, names) {
  if (!names.length) return '';
  return h('details', {}, h('summary', {}, `${counted(names.length, 'op or zone', 'ops and zones')} only in ${side}`), h('ul', {}, names.map((name) => h('li', {}, visible(name)))));
}
