// Shares of a whole. Where a part of the whole is unknown, a share is the least that it can be, or unknown.

/** A share in percent; one that is the least possible is rounded down. */
function percentText(share, isLeast = false) {
  if (!Number.isFinite(share)) return '';
  const percent = share * 100;
  const digits = percent >= 99.95 || percent === 0 ? 0 : percent < 1 ? 2 : 1;
  // What is a hair under a step only by the computer's arithmetic is the step.
  const shown = isLeast ? Math.floor(percent * 10 ** digits + 1e-6) / 10 ** digits : percent;
  return `${shown.toFixed(digits)} %`;
}

/** The time in zones that these rows add up, each `self` and `unknown` cycles: `all` is null if an outermost zone is open, `isPart` says that it is unknown of some cycles which zone ran. */
function timeInZones(rows) {
  const own = rows.reduce((sum, row) => sum + (row.self ?? 0), 0);
  const unknown = rows.reduce((sum, row) => sum === null || row.unknown === null ? null : sum + row.unknown, 0);
  return { all: unknown === null ? null : own + unknown, isPart: unknown !== 0 };
}

/** A zone's share of such a time, for a cell of a table. */
function shareOf(self, { all, isPart }) {
  if (self === null || all === null) return h('span.muted', { title: 'Unknown, since zones are open' }, '–');
  return all ? `${isPart ? '≥ ' : ''}${percentText(self / all, isPart)}` : '';
}

/** A share of what an op or a zone took; a dash if that is not known. */
const shareOfKnown = (part, whole) => part === null || !whole ? '–' : percentText(part / whole);

/** The number of zones that are open, behind that of the others. */
const openCount = (count) => count ? h('span.bad', { title: 'Zones whose end is not recorded; they are in no other figure' }, ` +${grouped(count)} open`) : '';
