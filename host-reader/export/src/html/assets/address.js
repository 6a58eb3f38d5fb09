// The view in the page's address, so that a link shows what its sender saw:
// `#op=3&time=1000-2000&unit=time`. Times are nanoseconds of the trace.

const address = { due: 0, isFollowing: false };

/** Writes what is in view into the address, soon. */
function noteAddress() {
  if (address.isFollowing || !document.documentElement.dataset.ready) return;
  clearTimeout(address.due);
  address.due = setTimeout(() => {
    const text = addressText();
    if (text !== location.hash.slice(1)) history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
  }, 150);
}

function addressText() {
  const { view, selected } = scene;
  const parts = [];
  if (selected?.op !== undefined) parts.push(`op=${selected.op}`);
  if (selected?.stretch) parts.push(`stretch=${selected.stretch.map(Math.round).join('-')}`);
  if (selected?.zone !== undefined && !selected.lane.device.isHost) parts.push(`zone=${selected.lane.device.index}.${selected.lane.index}.${selected.zone}`);
  if (view.start !== home.start || view.span !== home.span) parts.push(`time=${Math.round(view.start)}-${Math.round(view.start + view.span)}`);
  if (unit.isTime) parts.push('unit=time');
  return parts.join('&');
}

/** Shows what the address names; what it does not name stays. */
function followAddress(hash) {
  clearTimeout(address.due);
  const words = new Map(hash.slice(1).split('&').map((part) => part.split('=', 2)).filter((pair) => pair.length === 2));
  if (!words.size) return;
  const numbers = (key) => (words.get(key)?.match(/^-?\d+([-.]-?\d+)*$/) ? words.get(key).match(/(?<=^|[-.])-?\d+/g).map(Number) : []);
  address.isFollowing = true;
  if (words.has('unit')) chooseUnit(words.get('unit') === 'time');
  const [op] = numbers('op'), [from, to] = numbers('time'), stretch = numbers('stretch'), zone = numbers('zone');
  if (op >= 0 && op < opCount) openOp(op);
  if (stretch.length === 2) { scene.measure = stretch; select({ stretch }); }
  if (zone.length === 3 && devices[zone[0]]?.lanes.zones[zone[1]] > zone[2]) showZone(zone).then(() => { if (to !== undefined) showView(from, to - from); });
  if (to !== undefined) {
    showView(from, to - from);
    byId('timeline').scrollIntoView({ block: 'start' });
  }
  address.isFollowing = false;
}
