// What to know first: how much there is, where the time went, and whether it can be trusted.

/** Losses that are no omissions on purpose, by their index. */
const trueLosses = upTo(facts.losses.cause.length).filter((i) => !facts.losses.is_intended[i]);
const doubtOf = (key) => facts.doubts.find(([name]) => name === key)?.[1] ?? 0;

/** Time in which ops ran and time between them, over all chips, as far as it is known. */
function sumTimes() {
  const noDuration = ops.kernel_cycles.filter((cycles) => cycles === null).length;
  const times = { kernel: 0, gap: 0, gaps: 0, longestGap: -1, noDuration, noGap: ops.latency_doubt.filter((doubt) => doubt !== null).length };
  for (let op = 0; op < opCount; op++) {
    times.kernel += (ops.kernel_cycles[op] ?? 0) / opDevice(op).ghz;
    const gap = ops.op_to_op_latency_cycles[op];
    if (gap === null) continue;
    times.gap += gap / opDevice(op).ghz;
    times.gaps += 1;
    if (times.longestGap < 0 || gap > ops.op_to_op_latency_cycles[times.longestGap]) times.longestGap = op;
  }
  return times;
}

/** How long chips recorded, and how long the host, which may have begun long before. */
function recordedText() {
  const onChips = Math.max(...devices.map((device) => device.nsAt(device.knots.at(-1)[0]))) - originNs;
  const text = laneCount ? `${timeText(onChips)} on ${devices.length > 1 ? 'chips' : 'the chip'}` : '';
  return host && host.is_on_clock_of_chips && text ? `${text}, ${timeText(facts.span_ns)} with the host` : text || `${timeText(facts.span_ns)} recorded`;
}

function buildHeader() {
  byId('title').textContent = facts.title || 'Profile';
  const archs = [...new Set(devices.map((device) => device.arch))];
  const clocks = [...new Set(devices.map((device) => `${Math.round(device.ghz * 1000)} MHz`))];
  byId('subject').textContent = [
    devices.length > 1 ? `${devices.length} × ${listed(archs)}` : archs[0],
    clocks.length > 2 ? `${clocks.length} clocks` : listed(clocks),
    counted(coreCount, 'core'), counted(laneCount, 'lane'), counted(opCount, 'op'),
    counted(facts.zone_count, 'zone'), host && `${counted(host.zone_count, 'zone')} of ${counted(host.cores.length, 'thread')} of the host`, recordedText(),
  ].filter(Boolean).join(' · ');
  byId('unit-cycles').addEventListener('click', () => chooseUnit(false));
  byId('unit-time').addEventListener('click', () => chooseUnit(true));
  byId('foot').textContent = `Written by ${facts.exporter}. This page is self-contained: it needs no network.`;
}

function chooseUnit(isTime) {
  unit.isTime = isTime;
  byId('unit-cycles').setAttribute('aria-pressed', String(!isTime));
  byId('unit-time').setAttribute('aria-pressed', String(isTime));
  unit.listeners.forEach((listener) => listener());
  noteAddress();
}

/** Causes of losses with the records that each took, the largest first. */
function lossCauses() {
  const sums = new Map();
  const causes = new Set(trueLosses.map((i) => facts.losses.cause[i]));
  for (const group of facts.losses.groups) if (causes.has(group.cause)) sums.set(group.cause, LOST_KINDS.reduce((sum, key) => sum + group[key], sums.get(group.cause) ?? 0));
  return [...sums].sort((one, other) => other[1] - one[1]).map(([cause, count]) => `${cause}${count ? ` ${grouped(count)}` : ''}`);
}

/** What the recording lacks and whether its figures can be trusted, in the sentences of the terminal. */
function verdict(hasLink = true) {
  const { shortfall } = facts;
  const words = [];
  const say = (line, rest = '') => {
    const text = visible(line), [head] = text.match(/^(\w+: [^;]*|[^:;]*)/);
    words.push(h('strong', {}, head), `${text.slice(head.length)}${rest}. `);
  };
  if (facts.zone_count || facts.point_count || trueLosses.length || shortfall.is_loss_uncounted) {
    const causes = new Set(trueLosses.map((i) => facts.losses.cause[i]));
    const cores = maximum(facts.losses.groups.filter((group) => causes.has(group.cause)).map((group) => group.core_count));
    say(shortfall.lost, trueLosses.length ? ` (${listed(lossCauses())}; on ${counted(cores, 'core')})` : '');
  }
  const lossy = ops.lost_records.filter((lost) => lost > 0).length;
  const doubts = [lossy && `${counted(lossy, 'op')} lost records: their zones may be fewer and their sums smaller than what ran`,
    shortfall.unfinished.join('; '), ...shortfall.doubts, shortfall.anomalies].filter(Boolean);
  doubts.forEach((line) => say(line));
  const isWhole = words.length < 2;
  const hidden = doubtOf('hidden_by_filter_zones') + doubtOf('hidden_by_filter_points') + doubtOf('hidden_by_filter_ops');
  if (hidden) words.push(h('strong', {}, 'A filter hides part of it'), `: ${facts.doubts
    .filter(([key]) => key.startsWith('hidden_by_filter_')).map(([key, count]) => `${grouped(count)} ${key.slice(17).replaceAll('_', ' ')}`).join(', ')}. `);
  const dropped = doubtOf('dropped_host_events');
  if (dropped) words.push(h('strong', {}, `${counted(dropped, 'event')} of the host`), ` ${dropped === 1 ? 'was' : 'were'} dropped: its recorder had no room. `);
  if (doubtOf('host_is_not_on_clock_of_chips')) words.push(h('strong', {}, 'The host has another clock'), ': its times cannot be compared with those of chips. ');
  const isDoubtful = trueLosses.length + doubts.length + hidden + dropped + doubtOf('host_is_not_on_clock_of_chips') > 0;
  const isEmpty = !facts.zone_count && !facts.point_count;
  if (isEmpty) words.push(h('strong', {}, 'Empty'), ': no zone, event, value or sum was recorded. ');
  if (shortfall.repairs) words.push(`${shortfall.repairs}. `);
  if (hasLink && (isDoubtful || shortfall.repairs || facts.losses.cause.length)) words.push(h('a', { href: '#losses' }, 'What exactly'));
  return h(isDoubtful ? 'p.verdict.doubtful' : shortfall.is_loss_uncounted || isEmpty ? 'p.verdict.unknown' : 'p.verdict', {}, words);
}

/** The zone with the most cycles of its own, and its share of the time in zones as far as that is known. */
function mostCycles() {
  const { zones } = facts;
  const row = zones.self_cycles.reduce((best, cycles, i) =>
    !names.is_frame[zones.name[i]] && cycles !== null && (best < 0 || cycles > zones.self_cycles[best]) ? i : best, -1);
  if (row < 0) return null;
  const time = timeInZones(zones.name.map((_, i) => ({ self: zones.self_cycles[i], unknown: zones.unknown_cycles[i] })));
  const open = zones.open_count.reduce((sum, count) => sum + count, 0);
  const share = time.all ? `${time.isPart ? 'at least ' : ''}${percentText(zones.self_cycles[row] / time.all, time.isPart)} of the time in zones` : 'share unknown';
  const link = h('button.link', { type: 'button', onclick: () => showZone(zones.longest[row]) }, names.label[zones.name[row]]);
  return figure(open ? 'Most known cycles in' : 'Most cycles in', link, open ? `${share}: ${counted(open, 'zone')} ${open === 1 ? 'is' : 'are'} open` : share);
}

function buildSummary() {
  const section = byId('summary');
  const times = sumTimes();
  const figures = h('dl.figures');
  const fill = () => {
    // Shares of a whole that is not known are none.
    const share = times.noDuration + times.noGap ? 0 : times.kernel + times.gap;
    const known = (count, one) => count ? `${counted(count, one)} not known` : '';
    const ofDevices = (term) => devices.length > 1 ? `${term}, sum of ${devices.length} devices` : term;
    const sum = (ns, unknown, all) => unknown === all ? 'unknown' : `${unknown ? '≥ ' : ''}${timeText(ns)}`;
    const parts = [];
    if (opCount) {
      parts.push(figure(ofDevices('Kernels ran'), sum(times.kernel, times.noDuration, opCount), share ? percentText(times.kernel / share) : known(times.noDuration, 'op')));
      if (times.gaps || times.noGap) parts.push(figure(ofDevices('Between ops'), sum(times.gap, times.noGap, times.gaps + times.noGap), share ? percentText(times.gap / share) : known(times.noGap, 'gap')));
      if (times.longestGap >= 0) parts.push(figure(times.noGap ? 'Longest known gap' : 'Longest gap', opLink(times.longestGap, 'before '), cyclesWords(ops.op_to_op_latency_cycles[times.longestGap], opDevice(times.longestGap))));
    }
    parts.push(mostCycles());
    const { zones } = facts.host ?? {};
    if (zones?.name.length) {
      const most = zones.self_ns.reduce((best, ns, i) => ns > zones.self_ns[best] ? i : best, 0);
      parts.push(figure('Host most in', names.label[zones.name[most]], `${timeText(zones.self_ns[most])} in ${counted(zones.count[most], 'zone')}`));
    }
    figures.replaceChildren(...parts.filter(Boolean));
  };
  fill();
  unit.listeners.push(fill);
  section.append(verdict());
  buildFindings();
  section.append(figures);
  if (facts.causes) section.append(deviceClasses());
}

/** A link that shows an op in the timeline. */
function opLink(op, before = '') {
  return h('a', { href: `#op=${op}`, onclick: (event) => { event.preventDefault(); openOp(op); } }, before + opLabel(op));
}
