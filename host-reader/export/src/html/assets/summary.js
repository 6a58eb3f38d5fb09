// What to know first: how much there is, where the time went, and whether it can be trusted.

const lostCount = facts.lost_record_count, omittedCount = facts.omitted_record_count;
/** Losses that are no omissions on purpose, by their index. */
const trueLosses = upTo(facts.losses.cause.length).filter((i) => !facts.losses.is_intended[i]);
const anomalyCount = facts.anomalies.kinds.reduce((sum, [, count, isRepair]) => sum + (isRepair ? 0 : count), 0);
const repairCount = facts.anomalies.kinds.reduce((sum, [, count, isRepair]) => sum + (isRepair ? count : 0), 0);
const doubtOf = (key) => facts.doubts.find(([name]) => name === key)?.[1] ?? 0;

/** Time in which ops ran and time between them, over all chips. */
function sumTimes() {
  const unknown = (doubts) => doubts.filter((doubt) => doubt !== null).length;
  const times = { kernel: 0, gap: 0, gaps: 0, longestGap: -1, noDuration: unknown(ops.duration_doubt), noGap: unknown(ops.latency_doubt) };
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

/** Causes of omissions on purpose, as the terminal calls them. */
function omissions() {
  const known = { 'validate off': 'no kernel ran', skipped: 'the policy of the stream allows it' };
  const causes = new Set(facts.losses.cause.filter((_, i) => facts.losses.is_intended[i]));
  return [...causes].map((cause) => known[cause] ?? cause);
}

/** Whether the figures can be trusted, in sentences. */
function verdict(hasLink = true) {
  const link = (text) => h('a', { href: '#losses' }, text);
  const words = [];
  if (trueLosses.length) {
    const affected = ops.lost_records.filter((lost) => lost > 0).length;
    const bound = trueLosses.some((i) => facts.losses.is_lower_bound[i]) ? 'At least ' : '';
    const missing = lostCount ? `${bound}${counted(lostCount, 'record')} ${lostCount === 1 ? 'is' : 'are'} missing` : 'An unknown number of records is missing';
    const causes = new Set(trueLosses.map((i) => facts.losses.cause[i]));
    const cores = maximum(facts.losses.groups.filter((group) => causes.has(group.cause)).map((group) => group.core_count));
    words.push(h('strong', {}, missing), ` (${listed(lossCauses())}; on ${counted(cores, 'core')})`,
      affected ? `, from ${counted(affected, 'op')}: their zones may be fewer and their sums smaller than what ran. ` : '. ');
  }
  const reasons = facts.uncounted.map(([reason]) => reason).join('; ');
  if (facts.uncounted.some(([, isFailure]) => isFailure)) words.push(h('strong', {}, 'More may be missing'), `: ${reasons}. `);
  else if (reasons && words.length) words.push(`More may be missing: ${reasons}. `);
  const { run_count: all, ended_count: ended, open_zones: open } = facts.unfinished;
  const running = all - ended;
  if (all) {
    const others = ended ? ` (${grouped(ended)} of their launches had)` : '';
    const zones = open.map((zone) => `${visible(zone.name || 'without a name')} on ${counted(zone.risc_count, 'RISC')}, the first since cycle ${grouped(zone.first_start_cycle)}`);
    words.push(h('strong', {}, `${counted(running, 'run')} had not ended`), `${others}; kept is what they had recorded${zones.length ? `. In zone ${zones.join('; ')}` : ''}. `);
  }
  const holes = upTo(opCount).filter(hasLostLaunches).length;
  if (holes) words.push(h('strong', {}, 'Launches may be missing'), ` before ${counted(holes, 'op')}: the gaps there are not known. `);
  if (anomalyCount) words.push(h('strong', {}, counted(anomalyCount, 'anomaly', 'anomalies')), ' left something in doubt. ');
  const unfinished = ops.unfinished_core_count.filter((cores) => cores > 0).length;
  if (unfinished) words.push(h('strong', {}, `${counted(unfinished, 'op')} did not finish`), ' on every core. ');
  if (ops.clocks_of_cores_disagree.some(Boolean)) {
    words.push(h('strong', {}, 'The clocks of cores disagree'), ': there are no figures over several cores until their origins are measured. ');
  }
  const { noDuration, noGap } = sumTimes();
  const missing = [noDuration && `${counted(noDuration, 'op')} without a duration`, noGap > holes && `${counted(noGap, 'op')} without the gap before`].filter(Boolean);
  if (missing.length) words.push(h('strong', {}, `There ${noDuration + noGap === 1 ? 'is' : 'are'} ${listed(missing)}`), ', since what is missing may belong there. ');
  const hidden = doubtOf('hidden_by_filter_zones') + doubtOf('hidden_by_filter_points') + doubtOf('hidden_by_filter_ops');
  if (hidden) words.push(h('strong', {}, 'A filter hides part of it'), `: ${facts.doubts
    .filter(([key]) => key.startsWith('hidden_by_filter_')).map(([key, count]) => `${grouped(count)} ${key.slice(17).replaceAll('_', ' ')}`).join(', ')}. `);
  const dropped = doubtOf('dropped_host_events');
  if (dropped) words.push(h('strong', {}, `${counted(dropped, 'event')} of the host`), ` ${dropped === 1 ? 'was' : 'were'} dropped: its recorder had no room. `);
  if (doubtOf('host_is_not_on_clock_of_chips')) words.push(h('strong', {}, 'The host has another clock'), ': its times cannot be compared with those of chips. ');
  const isDoubtful = words.length > 0;
  const isEmpty = !facts.zone_count && !facts.point_count;
  if (isEmpty) words.push(h('strong', {}, 'Empty'), ': no zone, event, value or sum was recorded. ');
  else if (!isDoubtful && reasons) words.push(h('strong', {}, 'Losses are unknown'), `: ${reasons}. `);
  else if (!isDoubtful) words.push(h('strong', {}, 'Complete'), ': nothing was lost, and there are no anomalies. ');
  if (omittedCount) words.push(`${counted(omittedCount, 'record')} ${omittedCount === 1 ? 'was' : 'were'} omitted on purpose (${listed(omissions())}). `);
  if (repairCount) words.push(`${counted(repairCount, 'repair')} made data whole. `);
  if (hasLink && (isDoubtful || repairCount || omittedCount)) words.push(link('What exactly'));
  return h(isDoubtful ? 'p.verdict.doubtful' : reasons || isEmpty ? 'p.verdict.unknown' : 'p.verdict', {}, words);
}

function buildSummary() {
  const section = byId('summary');
  const times = sumTimes();
  const figures = h('dl.figures');
  const fill = () => {
    // Shares of a whole that is not known are none.
    const share = times.noDuration + times.noGap ? 0 : times.kernel + times.gap;
    const known = (count, one) => count ? `${counted(count, one)} not known` : '';
    const isKernelUnknown = times.noDuration === opCount;
    const parts = [];
    if (opCount) {
      parts.push(figure(devices.length > 1 ? `Kernels ran, sum of ${devices.length} devices` : 'Kernels ran', isKernelUnknown ? 'unknown' : timeText(times.kernel), share ? percentText(times.kernel / share) : known(times.noDuration, 'op')));
      if (times.gaps || times.noGap) parts.push(figure(devices.length > 1 ? `Between ops, sum of ${devices.length} devices` : 'Between ops', times.gaps ? timeText(times.gap) : 'unknown', share ? percentText(times.gap / share) : known(times.noGap, 'gap')));
      if (times.longestGap >= 0) parts.push(figure('Longest gap', opLink(times.longestGap, 'before '), cyclesWords(ops.op_to_op_latency_cycles[times.longestGap], opDevice(times.longestGap))));
    }
    const row = facts.zones.self_cycles.reduce((best, cycles, i) =>
      !names.is_frame[facts.zones.name[i]] && (best < 0 || cycles > facts.zones.self_cycles[best]) ? i : best, -1);
    if (row >= 0) {
      const label = names.label[facts.zones.name[row]];
      const inside = facts.zones.self_cycles.reduce((sum, cycles) => sum + cycles, 0);
      parts.push(figure('Most cycles in', h('button.link', { type: 'button', onclick: () => showZone(facts.zones.longest[row]) }, label),
        `${percentText(facts.zones.self_cycles[row] / inside)} of all RISC time`));
    }
    const { zones } = facts.host ?? {};
    if (zones?.name.length) {
      const most = zones.self_ns.reduce((best, ns, i) => ns > zones.self_ns[best] ? i : best, 0);
      parts.push(figure('Host most in', names.label[zones.name[most]], `${timeText(zones.self_ns[most])} in ${counted(zones.count[most], 'zone')}`));
    }
    figures.replaceChildren(...parts);
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
