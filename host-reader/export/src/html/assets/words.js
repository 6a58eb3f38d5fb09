// Numbers as people read them.

/** Digits in groups of three. */
const grouped = (number) => Math.round(number).toLocaleString('en-US');

const TIME_UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/** A time with three or four digits that matter. */
function timeText(ns) {
  const size = Math.abs(ns);
  const [scale, unit] = TIME_UNITS.find(([scale]) => size >= scale) ?? TIME_UNITS[3];
  const value = ns / scale;
  const digits = scale === 1 && Number.isInteger(value) ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
  return `${scale === 1 ? value.toFixed(Math.min(digits, 1)).replace(/\.0$/, '') : value.toFixed(digits)} ${unit}`;
}

/** Bytes with three digits that matter, in powers of 1,024. */
function bytesShort(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes, unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return `${unit && value < 100 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A time whose last digit stands for `step_ns`, for rulers. */
function rulerText(ns, stepNs) {
  const [scale, unit] = TIME_UNITS.find(([scale]) => Math.max(Math.abs(ns), stepNs) >= scale) ?? TIME_UNITS[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(stepNs / scale) - 1e-9));
  return `${(ns / scale).toFixed(digits)} ${unit}`;
}

/** A name with whatever could turn or hide the text around it made visible. */
const visible = (name) => name.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');

/** "1 zone", "2 zones". */
const counted = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;

/** "a", "a and b", "a, b and c". */
function listed(words) {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** The last parts of a path: what tells one file from another. */
function shortPath(path) {
  const parts = path.split('/');
  return parts.length > 2 ? `…/${parts.slice(-2).join('/')}` : path;
}
