// The page from top to bottom.

buildHeader();
buildHelp();
buildSummary();
buildOps();
buildOpPage();
buildGrid();
buildTimeline();
buildComparison();
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
window.addEventListener('hashchange', followAddress);
followAddress();
document.documentElement.dataset.ready = 'true';
