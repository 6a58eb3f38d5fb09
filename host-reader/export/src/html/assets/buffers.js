// Buffers: what each memory held at most, and while the host enqueued each op.

function buildBuffers() {
  const section = byId('buffers');
  const { memories, ops: peaks } = facts.buffers;
  if (!memories.kind.length) { section.hidden = true; return; }
  headOf('buffers').append(h('span.muted.hint', {}, 'Bytes of all buffers of a memory, as the host reported them. The timeline draws them under the host.'));
  section.append(memoryTable(memories));
  if (!peaks.program.length) { section.append(h('p.sub', {}, 'The host did not say when it enqueued ops, so that none has a peak.')); return; }
  section.append(h('h3.sub', {}, 'Peaks while an op was enqueued'), peakTable(peaks));
}

const bytesOrNone = (bytes) => bytes === null ? '–' : grouped(bytes);

function memoryTable({ chip_id: chip, kind, peak, peak_ns: peakNs, last, changes }) {
  const most = maximum(peak);
  const number = (label, width, values) => ({ label, width, value: (row) => values[row], show: (row) => grouped(values[row]) });
  const columns = [
    { label: 'Dev', width: '8%', value: (row) => chip[row], show: (row) => String(chip[row]) },
    { label: 'Memory', isText: true, width: '18%', value: (row) => kind[row], show: (row) => kind[row] },
    { label: 'Peak', width: '28%', title: 'Most bytes at a time', value: (row) => peak[row], show: (row) => withBar(grouped(peak[row]), peak[row] / (most || 1)) },
    { label: 'Peak at', width: '18%', title: 'When it first held them', value: (row) => peakNs[row], show: (row) => peakNs[row] === null ? '–' : sinceText(peakNs[row]) },
    number('In the end', '16%', last), number('Changes', '12%', changes),
  ];
  return new Table({ label: 'Buffers by memory', noun: ['memory', 'memories'], rows: upTo(kind.length), columns, height: 220, sort: { column: 0, isDown: false } }).scroller;
}

function peakTable({ kinds, chip_id: chip, op, name, program, peaks }) {
  const label = (row) => op[row] === null ? `${name[row] === null ? 'program' : visible(name[row])} ${program[row]}` : opLabel(op[row]);
  const columns = [
    { label: 'Op', isText: true, width: '40%', value: label, show: (row) => op[row] === null ? label(row) : openButton(label(row), 'Show in the timeline') },
    devices.length > 1 && { label: 'Dev', width: '8%', value: (row) => chip[row], show: (row) => String(chip[row]) },
    ...kinds.map((kind, index) => ({ label: kind, width: `${Math.floor(50 / kinds.length)}%`, title: `Most bytes in ${kind}`, value: (row) => peaks[row][index], show: (row) => bytesOrNone(peaks[row][index]) })),
  ].filter(Boolean);
  return new Table({ label: 'Buffers by op', noun: ['op'], rows: upTo(program.length), columns, height: 320, sort: { column: columns.length - 1, isDown: true }, onOpen: (row) => { if (op[row] !== null) openOp(op[row]); } }).scroller;
}
