// Why it is slow: the sentences of `kprof explain`, linked to what they name, and where time went.

/** Puts the findings, or why there are none, below the verdict. */
function buildFindings() {
  const { causes } = facts;
  if (!causes) return;
  const section = byId('summary');
  for (const sentence of [causes.simulated, causes.window, ...causes.time_sums, causes.described_by, causes.noc_events, causes.counters, causes.kernels, ...causes.unreplayed_traces]) if (sentence) section.append(h('p.window', {}, visible(sentence)));
  const shown = causes.findings.slice(0, 3), rest = causes.findings.slice(3);
  if (shown.length) section.append(h('ol.findings', {}, shown.map(findingItem)));
  if (causes.no_cause) section.append(noCause(causes.no_cause));
  const more = [
    ...rest.map((finding) => h('p', {}, findingItem(finding).childNodes)),
    ...causes.not_used.map((sentence) => h('p.muted', {}, `Not used, or in doubt: ${visible(sentence)}.`)),
    ...causes.untold.map(([question, reason, how]) => h('p.muted', {}, h('strong', {}, question), `: ${reason}. Record ${how}.`)),
  ];
  if (!more.length) return;
  const words = [rest.length && counted(rest.length, 'more finding'), causes.untold.length && `${counted(causes.untold.length, 'question')} that this recording cannot answer`, causes.not_used.length && counted(causes.not_used.length, 'kind of data not used', 'kinds of data not used')].filter(Boolean);
  const text = listed(words);
  section.append(h('details.untold', {}, h('summary', {}, text), more));
}

/** What was looked at and measured where no cause was found, and what to record next. */
function noCause({ sentence, measured, where, record_next: next }) {
  const place = where ? h('p.muted', {}, `Where: ${visible(where)}`) : '';
  return h('div.no-cause', {}, h('p', {}, h('strong', {}, visible(sentence))), h('ul', {}, measured.map((fact) => h('li', {}, visible(fact)))), place, h('p.try', {}, `Record next: ${visible(next)}.`));
}

function findingItem(finding) {
  const gain = finding.gain_ns ? ` To gain: ${finding.gain}.` : '';
  const why = finding.why.length ? ` Why: ${visible(finding.why.join('; '))}.` : '';
  return h('li', {}, h('strong', {}, visible(finding.sentence)), ' ', findingLinks(finding), why, h('span.try', {}, `${gain} Try: ${visible(finding.advice)}.`));
}

/** Links to the op, the core and its RISC, and the zone that a finding names. */
function findingLinks({ op, more_ops: more, device, core, risc, zone }) {
  const links = [];
  const chip = devices[device ?? (op === null ? 0 : ops.device[op])];
  const at = chip && core ? chip.cores.findIndex(([x, y]) => x === core[0] && y === core[1]) : -1;
  const press = (text, onclick) => h('button.link', { type: 'button', onclick }, text);
  if (op !== null) links.push(opLink(op));
  links.push(...more.map((other) => opLink(other)));
  if (at >= 0) {
    links.push(press(`core ${chip.coreLabel(at)}${risc ? ` ${risc}` : ''}`, () => {
      if (op !== null) openOp(op);
      showCore(chip.index, at);
    }));
  }
  if (zone !== null) links.push(press(visible(zone), () => showNamedZone(op, visible(zone))));
  return links.length ? h('span', {}, '(', links.flatMap((link, index) => index ? [', ', link] : [link]), ')') : '';
}

/** Shows the longest zone of a name, in an op if it is of one. */
async function showNamedZone(op, name) {
  if (op !== null) {
    const device = opDevice(op), { zones } = await device.opCells(opNumber(op));
    const [longest] = zones.filter((row) => names.label[row.name] === name).sort((a, b) => b.most - a.most);
    if (longest) { showZone([device.index, longest.lane, longest.zone]); return; }
  }
  const row = facts.zones.name.findIndex((number) => names.label[number] === name);
  if (row >= 0) showZone(facts.zones.longest[row]);
}

/** Chips whose bars are always shown. */
const SHOWN_CHIPS = 4;

/** Where the time of each chip went. */
function deviceClasses() {
  const known = facts.causes.devices.map(([chip, percents]) => h('div', {}, devices.length > 1 && h('span.muted', {}, `device ${chip ?? 'unknown'} `), classBar(percents)));
  const more = known.length - SHOWN_CHIPS;
  const rest = more > 0 && h('details', {}, h('summary', {}, `${more} more ${more > 1 ? 'chips' : 'chip'}`), known.slice(SHOWN_CHIPS));
  return h('div.device-classes', {}, known.slice(0, SHOWN_CHIPS), rest);
}

/** A bar of a time's classes, and the largest of them in words. */
function classBar(percents) {
  const shares = facts.causes.classes.map((name, index) => [name, percents[index]]).filter(([, percent]) => percent > 0);
  const words = shares.map(([name, percent]) => `${name} ${percent} %`).join(', ');
  const parts = facts.causes.classes.map((name, index) => {
    const part = h('i', { title: `${name} ${percents[index]} %` });
    part.style.width = `${percents[index]}%`;
    part.style.backgroundColor = classColour(name);
    return part;
  });
  return h('div', {}, h('span.track.classes', { role: 'img', 'aria-label': words }, parts), h('span.muted', {}, words));
}

// No hue of a RISC is near, and RISCs are lighter: the same colour would look like the same thing.
const CLASS_HUES = { compute: 125, movement: 175, collective: 300, wait: 30, dispatch: 225, 'host late': 0, profiler: 335 };
const classColour = (name) => name in CLASS_HUES ? `oklch(${isDark.matches ? 0.64 : 0.5} 0.1 ${CLASS_HUES[name]})` : colour('quiet');

/** Where an op's time went. */
const opClasses = (op) => facts.causes?.op_times[op] ? pair('Time', classBar(facts.causes.op_times[op])) : null;

/** The stage that sets an op's pace. */
function opPace(op) {
  const pace = facts.causes?.op_paces[op];
  if (!pace) return null;
  const uses = pace.uses.map(([stage, least, most]) => `${stage} ${least === most ? `${least} %` : `${least} to ${most} %`}`).join(', ');
  return pair('Pace', `${pace.is_certain ? `set by the ${pace.stage}` : `not certain; most used: ${pace.stage}`}. In use: ${uses}`);
}

/** Blocked time of a RISC in an op; undefined where none was recorded. */
const waitOf = (op, risc) => facts.causes?.op_waits[op].find((row) => row.risc === risc);

/** How much of a RISC's kernel was blocked, and by what most. */
function waitCell(wait) {
  const waited = wait.blocked_percent + wait.barrier_percent;
  const what = wait.sums.map(([kind, key, cycles, count]) => `${kind} ${key}: ${grouped(cycles)} cycles in ${counted(count, 'wait')}`).join('; ');
  const [first] = wait.sums;
  return h('span.waits', { title: what }, waited ? `${waited.toFixed(1)} % waits${first ? `: ${first[0]} ${first[1]}` : ''}` : 'no waits');
}
