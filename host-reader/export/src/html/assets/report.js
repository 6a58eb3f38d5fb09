// The page from top to bottom.

buildHeader();
buildHelp();
buildSummary();
buildOps();
buildGroups();
buildModules();
buildOpPage();
buildGrid();
buildTimeline();
buildSource();
buildComparison();
buildZones();
buildCounters();
buildNoc();
buildMemory();
buildBuffers();
buildKernels();
buildGaps();
buildLosses();
buildClocks();
for (const link of document.querySelectorAll('#bar a')) {
  if (document.querySelector(link.getAttribute('href')).hidden) link.parentElement.remove();
}
// The event's own address: the page may have written another one since.
window.addEventListener('hashchange', (event) => followAddress(new URL(event.newURL).hash));
followAddress(location.hash);
document.documentElement.dataset.ready = 'true';
