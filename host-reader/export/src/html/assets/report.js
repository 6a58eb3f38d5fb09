// The page from top to bottom.

buildHeader();
buildSummary();
buildOps();
buildGrid();
buildTimeline();
buildZones();
buildCounters();
buildNoc();
buildKernels();
buildGaps();
buildLosses();
buildClocks();
for (const link of document.querySelectorAll('#bar a')) {
  if (document.querySelector(link.getAttribute('href')).hidden) link.parentElement.remove();
}

/** An address may name an op or a stretch of time: `#op=3`, `#time=1000-2000`, in nanoseconds. */
function followAddress() {
  const [, op] = /^#op=(\d+)$/.exec(location.hash) ?? [];
  const [, from, to] = /^#time=(\d+)-(\d+)$/.exec(location.hash) ?? [];
  if (op !== undefined && Number(op) < opCount) openOp(Number(op));
  else if (to !== undefined) {
    showView(Number(from), Number(to) - Number(from));
    byId('timeline').scrollIntoView({ block: 'start' });
  }
}
window.addEventListener('hashchange', followAddress);
followAddress();
document.documentElement.dataset.ready = 'true';
