// The ops of an ops CSV, and which of them are the steady part.

const facts = JSON.parse(byId('facts').textContent);
const { ops } = facts;
ops.name = ops.name.map(visible);
const opCount = ops.name.length;
/** A CSV knows chips, and neither their cores nor their clocks: its times are nanoseconds. */
const devices = [...new Set(ops.device)];
const opDevice = () => ({ ghz: 1 });
unit.isTime = true;

const [firstSteady, lastSteady] = facts.steady ?? [0, opCount - 1];
/** Ops of the steady part; all where nothing repeats. */
const steadyOps = upTo(opCount).slice(firstSteady, lastSteady + 1);
const isSteady = (op) => op >= firstSteady && op <= lastSteady;

const opLabel = (op) => `${ops.name[op]} (row ${ops.id[op]})`;
const gapDoubt = () => 'the CSV has no gap here, or one that cannot be';
const hasLostLaunches = () => false;
/** For each op the one before on the same chip; -1 if there is none. */
const opsBefore = (() => {
  const last = new Map();
  return upTo(opCount).map((op) => {
    const before = last.get(ops.device[op]) ?? -1;
    if (!ops.is_host[op]) last.set(ops.device[op], op);
    return before;
  });
})();
const opBefore = (op) => opsBefore[op];
// The first op of a chip follows none; writers give it a gap of 0.
ops.gap_ns = ops.gap_ns.map((gap, op) => opBefore(op) < 0 ? null : gap);
/** The gap before the first op of a chip in the steady part is not part of it. */
const isGapSteady = (op) => isSteady(op) && opBefore(op) >= firstSteady;
ops.op_to_op_latency_cycles = ops.gap_ns.map((gap, op) => isGapSteady(op) ? gap : null);
ops.latency_doubt = upTo(opCount).map((op) => ops.gap_ns[op] === null && !ops.is_host[op] && isGapSteady(op) ? gapDoubt() : null);

const number = (digits) => (value) => value.toFixed(digits);
/** The longest op of a group. */
const opOfGroup = (group) => ops.id.indexOf(group.rows[0]);
