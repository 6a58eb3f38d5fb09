// The unit that is chosen, colours, and small parts of every table.

const unit = { isTime: false, listeners: [] };

const isDark = matchMedia('(prefers-color-scheme: dark)');
/** A colour for a mark. */
const markOf = (hue, chroma = 0.13) =>
  isDark.matches ? `oklch(0.74 ${chroma} ${hue})` : `oklch(0.6 ${chroma} ${hue})`;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const maximum = (values) => values.reduce((most, value) => Math.max(most, value ?? 0), 0) || 1;
const upTo = (count) => Array.from({ length: count }, (_, i) => i);
/** A text for a value, and a dash where it is not known. */
const unknownOr = (value, text) => value === null ? h('span.muted', {}, '–') : text(value);
const percent = (value) => `${value.toFixed(1)} %`;
const withBar = (text, share, className) => h('span.with-bar', {}, bar(share, className), h('span', {}, text));

/** A figure of the summary with its name. */
function figure(term, value, note) {
  return h('div', {}, h('dt', {}, term), h('dd', {}, h('span.figure', {}, value), note && h('span.muted', {}, note)));
}
