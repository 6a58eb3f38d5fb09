// Memory while ops run: what the page knows of it, and the names of what it shows.

const memory = facts.memory;
const memoryOps = memory?.ops;
/** Ops of the page's blocks of ranges. */
const MEMORY_OPS_PER_BLOCK = 256;

/** What fills a memory, from the bottom of the chart to its top: label, hue, and bytes of an op. */
const L1_CLASSES = memory && (() => {
  const [buffers, tensors, reserved, kernels] = memory.parts;
  const part = (row, index) => memoryOps.parts[row][index];
  return [
    { key: 'reserved', label: `${reserved.split(',')[0]}, but for kernels`, hue: 250, chroma: 0.03, bytes: (row) => part(row, 2) === null ? null : part(row, 2) - (part(row, 3) ?? 0) },
    { key: 'kernels', label: kernels.split(': ')[1], hue: 292, bytes: (row) => part(row, 3) },
    { key: 'circular-buffers', label: buffers, hue: 65, bytes: (row) => part(row, 0) },
    { key: 'buffers', label: `${tensors} of a later or this op`, hue: 250, bytes: (row) => part(row, 1) === null ? null : part(row, 1) - memoryOps.outlived[row] },
    { key: 'outlived', label: 'tensors that no later op has', hue: 22, bytes: (row) => part(row, 1) === null ? null : memoryOps.outlived[row] },
  ];
})();
const DRAM_CLASSES = memory && [
  { key: 'buffers', label: 'tensors and other buffers of a later or this op', hue: 250, bytes: (row) => memoryOps.dram[row] === null ? null : memoryOps.dram[row] - memoryOps.dram_outlived[row] },
  { key: 'outlived', label: 'tensors that no later op has', hue: 22, bytes: (row) => memoryOps.dram[row] === null ? null : memoryOps.dram_outlived[row] },
];

const MEMORIES = {
  L1: { classes: L1_CLASSES, used: (row) => memoryOps.used[row], capacity: (row) => memoryOps.capacity[row], where: 'the fullest core' },
  DRAM: { classes: DRAM_CLASSES, used: (row) => memoryOps.dram[row], capacity: (row) => memoryOps.dram_capacity[row], where: 'each bank' },
};

const memoryLabel = (row) => `${visible(memoryOps.name[row] ?? 'an op without a name')} (${memoryOps.program[row]})`;
/** Where an op or a call is in the user's program; empty if unknown. */
const placeText = ({ location, module }) => [location, module].filter((text) => text !== null).map(visible).join(', ');
const placeOfOp = (row) => placeText({ location: memoryOps.location[row], module: memoryOps.module[row] });
const memoryColour = ({ hue, chroma }) => markOf(hue, chroma);

/** Which class of the chart a range is of. */
function classOfRange(range, row) {
  if (/circular buffer$/.test(range.kind)) return 'circular-buffers';
  if (range.kind === 'kernel' || range.kind === 'configuration') return 'kernels';
  if (range.kind === 'reserved' || (range.kind === 'profiler' && range.cores !== null)) return 'reserved';
  return range.last !== null && isOutlived(range, row) ? 'outlived' : 'buffers';
}
/** True if an op before this one on the chip was the last that had a tensor. */
function isOutlived(range, row) {
  for (let before = row - 1; before >= 0 && memoryOps.chip_id[before] === memoryOps.chip_id[row]; before--) if (memoryOps.program[before] === range.last) return true;
  return false;
}

const memoryBlocks = new Map();
/** The ranges of memory during an op. */
async function rangesOf(row) {
  const block = Math.floor(row / MEMORY_OPS_PER_BLOCK);
  if (!memoryBlocks.has(block)) {
    const count = Math.min(MEMORY_OPS_PER_BLOCK, memoryOps.program.length - block * MEMORY_OPS_PER_BLOCK);
    memoryBlocks.set(block, columnsOf(`memory-${block}`).then((columns) => {
      const texts = Array.from({ length: columns.number() }, () => visible(columns.text()));
      return Array.from({ length: count }, () => readRanges(columns, texts));
    }));
  }
  return (await memoryBlocks.get(block))[row % MEMORY_OPS_PER_BLOCK];
}

function readRanges(columns, texts) {
  let start = 0;
  const text = () => texts[columns.number() - 1] ?? null;
  const optional = () => { const number = columns.number(); return number ? number - 1 : null; };
  return Array.from({ length: columns.number() }, () => {
    const memory = columns.number() ? 'DRAM' : 'L1';
    const [kind, cores, content, owner, module, location] = [text(), text(), text(), text(), text(), text()];
    const [number, layout, coreCount] = [optional(), optional(), optional()];
    start += columns.signed();
    const [size, counted] = [columns.number(), columns.number()];
    const [pageCount, pageBytes, last] = [optional(), optional(), optional()];
    return { memory, kind, cores, content, owner, module, location, number, layout, coreCount, start, size, counted, pageCount, pageBytes, last };
  });
}

/** What a range is, as in the terminal. */
function rangeText({ kind, number, pageCount, pageBytes }) {
  if (number === null) return kind;
  return pageCount === null || pageBytes === null ? `${kind} ${number}` : `${kind} ${number}: ${pageCount} x ${pageBytes}`;
}
