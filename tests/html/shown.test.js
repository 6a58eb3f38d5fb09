// What a page shows, in the words and figures that are to be read, against what the terminal, JSON and MCP say of the
// same recording: what is lost or unknown, and every share. A share of which a part is unknown says so.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { KPROF, exported, folder, open, settled } from './browser.js';
import { capture, recordingsOfRepository, writeGenerated, writeOpsCsv, writeUnknown } from './recordings.js';

/** Generated recordings: a sample, or as many as the full test has. Half of them are new in every run. */
const COUNT = process.env.KPROF_FULL_SIZES ? 200 : 16;
const SEED = Number(process.env.KPROF_SHOWN_SEED ?? Date.now() % 1_000_000);

const env = { ...process.env, NO_COLOR: '1' };
const said = (...args) => {
  const { status, stdout, stderr } = spawnSync(KPROF, args, { cwd: folder, encoding: 'utf8', env, maxBuffer: 1 << 28 });
  assert.ok(status === 0 || status === 1, `${args}: ${status}: ${stderr}`);
  return stdout;
};
const documents = (...args) => said(...args, '--json').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const plain = (text) => text.replace(/\s+/g, ' ').trim();

/** All recordings, each written or generated when it is asked for. */
function* inputs() {
  yield* recordingsOfRepository();
  yield* writeUnknown();
  yield* capture();
  for (let number = 0; number < COUNT; number++) yield writeGenerated(`generated-${number}.csv`, number % 2 ? SEED + number : number);
}

/** A server of recordings, asked one question after the other. */
function agent() {
  const server = spawn(KPROF, ['mcp', '--root', '/'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  let id = 0;
  const ask = async (method, params) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
    return JSON.parse((await lines.next()).value).result;
  };
  return {
    async start() {
      await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '0' } });
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    },
    /** The losses of each run of a recording. */
    async lost(path) {
      const loaded = await ask('tools/call', { name: 'load', arguments: { path } });
      const { rows, columns, recording } = JSON.parse(loaded.content[0].text);
      const losses = [];
      for (let run = 1; run <= rows.length; run++) {
        const answer = await ask('tools/call', { name: 'zones', arguments: { recording, run } });
        losses.push(JSON.parse(answer.content[0].text).lost);
      }
      assert.ok(losses.every(Boolean), `${path}: ${columns}`);
      return losses;
    },
    stop: () => server.stdin.end(),
  };
}

/** The sentences of the terminal about what a run lacks. */
function lacksOf(text) {
  const lines = text.split('\n');
  const starts = (...heads) => lines.filter((line) => heads.some((head) => line.startsWith(head)));
  return {
    lost: starts('Lost: ')[0],
    unfinished: [...starts('Unfinished: '), ...lines.filter((line) => /^ {2}in zone .*, the first since cycle /.test(line))].map((line) => line.trim()),
    doubts: lines.filter((line) => /^[\d,]+ ops? without /.test(line)),
    anomalies: starts('Anomalies: ', 'Repairs: '),
  };
}

test('pages, the terminal, JSON and agents say the same of what is lost, unfinished or in doubt', async () => {
  const server = agent();
  await server.start();
  let unknown = 0;
  for (const input of inputs()) {
    const texts = said('report', input, '--rows', '0').split(/^(?=.* worker cores, \d+ chip)/m).filter((text) => text.includes('Lost: '));
    const reports = documents('report', input), losses = await server.lost(resolve(folder, input));
    assert.deepEqual([texts.length, losses.length], [reports.length, reports.length], input);
    for (const [index, report] of reports.entries()) {
      const what = `${input}, run ${index + 1}, KPROF_SHOWN_SEED=${SEED}`, lacks = lacksOf(texts[index]);
      exported(input, 'alike.html', '--run', String(index + 1));
      const { page, complaints, close } = await open('alike.html');
      for (const section of ['#summary', '#losses']) {
        const shown = plain(await page.innerText(`${section} .verdict`));
        // What a page adds to the line about losses stands behind it.
        assert.ok(`${shown} `.includes(lacks.lost), `${what}, ${section}: ${lacks.lost}\n${shown}`);
        for (const line of [...lacks.unfinished, ...lacks.doubts, ...lacks.anomalies]) assert.ok(shown.includes(line), `${what}, ${section}: ${line}\n${shown}`);
        // And nothing else of the kind.
        const count = (pattern) => [...shown.matchAll(pattern)].length;
        assert.deepEqual([count(/Lost: /g), count(/Unfinished: /g), count(/ops? without /g), count(/Anomalies: |Repairs: /g)],
          [1, lacks.unfinished.length ? 1 : 0, lacks.doubts.length, lacks.anomalies.length], `${what}: ${shown}`);
      }
      const { records, omitted_records: omitted, is_lower_bound: isLeast } = report.lost;
      assert.equal(lacks.lost.startsWith('Lost: nothing'), records === 0 && !isLeast, what);
      assert.equal(/^Lost: (unknown|an unknown number)/.test(lacks.lost), records === null, what);
      const { text, ...numbers } = losses[index];
      assert.deepEqual(numbers, { records, omitted_records: omitted, is_lower_bound: isLeast, unfinished_runs: numbers.unfinished_runs }, what);
      assert.equal(text, [lacks.lost, ...lacks.unfinished].join('; '), what);
      unknown += records === null;
      assert.deepEqual(complaints, [], what);
      await close();
    }
  }
  assert.ok(unknown > COUNT, `${unknown} recordings with unknown losses`);
  server.stop();
});

/** Cycles in zones by name, and how many of them it is unknown of whose they are, from folded stacks of a RISC or of all. */
function timeOf(stacks, risc = null) {
  const time = { self: new Map(), all: 0, unknown: 0, isOpen: false, isUnlimited: false };
  for (const line of stacks.split('\n').filter((line) => line && !line.startsWith('[') && !line.startsWith('host (ns);'))) {
    const [, stack, count] = line.match(/^(.*) (\d+)$/), cycles = Number(count), frames = stack.split(';'), last = frames.at(-1);
    // Device, core and RISC come first.
    if (risc !== null && frames[2] !== risc) continue;
    if (/^\[open \d+\]$/.test(last)) {
      time.isOpen = true;
      time.isUnlimited ||= frames.length === 5;
    } else if (last === '[unknown]') {
      time.unknown += cycles;
    } else if (!last.startsWith('[lost')) {
      time.self.set(last, (time.self.get(last) ?? 0) + cycles);
    }
    time.all += cycles;
  }
  return time;
}

/** A share as it is shown: its number, and whether it is said to be the least. */
function shareIn(text) {
  const found = text.match(/(≥ |at least )?([\d.]+) %/);
  return found && { percent: Number(found[2]), isLeast: Boolean(found[1]), digits: found[2].split('.')[1]?.length ?? 0 };
}

/** Asserts that a share is the exact one, or, of a whole with an unknown part, a least that holds and comes near. */
function assertShare(text, part, whole, isPart, what) {
  const shown = shareIn(text), exact = 100 * part / whole, step = 10 ** -(shown?.digits ?? 0);
  assert.ok(shown, `${what}: no share in ${text}`);
  assert.equal(shown.isLeast, isPart, `${what}: ${text}`);
  const off = exact - shown.percent;
  assert.ok(isPart ? off > -1e-6 && off <= step + 1e-6 : Math.abs(off) <= step / 2 + 1e-6, `${what}: ${text}, but it is ${exact}`);
}

/** Whatever on a page holds a share: its text, and where it stands. */
const sharesOf = (page) => page.evaluate(() => {
  const found = [], hasShare = /\d %/;
  const add = (element, text) => {
    const cell = element.closest('td, th'), row = cell?.closest('tr'), table = cell?.closest('table');
    const heads = table ? [...table.querySelectorAll('thead th')] : [];
    const label = cell ? heads[[...row.children].indexOf(cell)]?.textContent ?? '' : element.closest('dd')?.previousSibling?.textContent ?? '';
    found.push({ section: element.closest('section')?.id ?? '', label: label.replace(/ [↑↓]$/, ''), place: element.closest('p, li, td, dd, h3, summary, caption, div')?.className ?? '',
      row: row?.firstChild.textContent ?? '', second: row?.children[1]?.textContent, text: text.replace(/\s+/g, ' ').trim() });
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT);
  for (let element = walker.nextNode(); element; element = walker.nextNode()) {
    // A column of the 99th percentile is no share.
    if (['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName) || element.closest('th')) continue;
    for (const name of ['title', 'aria-label']) if (hasShare.test(element.getAttribute(name) ?? '')) add(element, element.getAttribute(name));
    const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent).join('');
    if (hasShare.test(own)) add(element, element.closest('p, li, td, dd, h3, summary')?.textContent ?? own);
  }
  return found;
});

const RISC_NAMES = { BR: 'BRISC', NC: 'NCRISC', T0: 'TRISC_0', T1: 'TRISC_1', T2: 'TRISC_2', ER: 'ERISC' };
const RISC_COLUMNS = { BRISC: 'brisc', NCRISC: 'ncrisc', TRISC_0: 'trisc0', TRISC_1: 'trisc1', TRISC_2: 'trisc2', ERISC: 'erisc' };
const sum = (values) => values.reduce((all, value) => all + value, 0);

/** Checks every share of a page; those that it does not work out itself must be the terminal's. */
async function judge(input, what) {
  exported(input, 'shares.html');
  const [report] = documents('report', input), [explained] = documents('explain', input);
  // A recording without memory is refused in a sentence, and its page shows none.
  const memory = spawnSync(KPROF, ['memory', input, '--rows', '0'], { cwd: folder, encoding: 'utf8', env }).stdout;
  const terminal = plain([said('explain', input), said('report', input, '--rows', '0'), memory, JSON.stringify(explained)].join(' '));
  exported(input, 'shares.folded');
  const stacks = readFileSync(join(folder, 'shares.folded'), 'utf8'), time = timeOf(stacks);
  const { page, complaints, close } = await open('shares.html', { width: 1440 });
  await settled(page);
  if (report.ops.length) await page.waitForFunction(() => document.querySelector('#op .op-zones, #op .empty-note') !== null);
  const ns = (op) => op.kernel_ns, known = report.ops.filter((op) => ns(op) !== null), unknown = report.ops.length - known.length;
  const figures = new Map(await page.$$eval('#summary .figures > div', (all) => all.map((one) => [one.querySelector('dt').textContent, one.querySelector('dd').textContent])));
  const figure = (head) => [...figures].find(([term]) => term.startsWith(head))?.[1];

  // What is not known is called so, and never 0.
  const ran = figure('Kernels ran');
  if (report.ops.length && !known.length) assert.match(ran, /^unknown/, what);
  else if (unknown) assert.match(ran, /^≥ .* not known$/, what);
  else if (ran !== undefined) assert.doesNotMatch(ran, /unknown|≥|not known/, what);

  // The zone with the most cycles, and its share of the time in zones.
  const most = [...figures].find(([term]) => /^Most (known )?cycles in/.test(term));
  if (most) {
    const name = await page.textContent('#summary .figures dt:has-text("cycles in") + dd .figure');
    const selves = new Map();
    for (const zone of report.zones) selves.set(zone.name, (selves.get(zone.name) ?? 0) + (zone.count ? zone.self_total_cycles : 0));
    const own = selves.get(name);
    assert.ok(own !== undefined, `${what}: ${name}`);
    assert.equal(own, time.self.get(name) ?? 0, `${what}: ${name} in JSON and in folded stacks`);
    for (const [other, cycles] of selves) assert.ok(cycles <= own || /-(FW|KERNEL)$/.test(other), `${what}: ${other} has more than ${name}`);
    assert.equal(most[0], time.isOpen ? 'Most known cycles in' : 'Most cycles in', what);
    if (time.isUnlimited) assert.match(most[1], /share unknown: \d+ zones? (is|are) open$/, what);
    else if (time.all) assertShare(most[1].slice(name.length), own, time.all, time.unknown > 0, `${what}: ${most[0]} ${name}`);
  }

  let count = 0;
  const slowest = known.length ? known.reduce((best, op) => ns(op) > ns(best) ? op : best) : report.ops[0];
  for (const { section, label, place, row, second, text } of await sharesOf(page)) {
    count += 1;
    const where = `${what}: ${section} ${label || place} ${row}: ${text}`;
    if (section === 'summary' && /cycles in$/.test(label)) continue;
    if (section === 'summary' && /^(Kernels ran|Between ops)/.test(label)) {
      const gaps = sum(report.ops.map((op) => op.op_to_op_latency_ns ?? 0)), kernels = sum(known.map(ns));
      assert.ok(!unknown && report.ops.every((op) => op.latency_doubt === null), where);
      assertShare(text.replace(/^.*?(?=[\d.]+ %)/, ''), label.startsWith('Kernels') ? kernels : gaps, kernels + gaps, false, where);
    } else if (section === 'ops') {
      // Shares of RISCs, in the title of their bars.
      const labels = (op) => [`program ${op.program}`, `${op.name} ${op.program}`], op = report.ops.find((op) => labels(op).some((label) => row === label || row.startsWith(`${label} `)));
      assert.ok(op, where);
      for (const part of text.split(', ')) {
        const [risc] = part.split(' ');
        const candidates = report.ops.filter((other) => other.program === op.program).map((other) => [other[`${RISC_COLUMNS[risc]}_kernel_cycles`], other.kernel_cycles]);
        const fits = candidates.some(([cycles, whole]) => whole && Math.abs(100 * cycles / whole - shareIn(part).percent) <= 0.051);
        assert.ok(fits, where);
      }
    } else if (section === 'op' && place.includes('muted') && /kernel time/.test(text)) {
      assert.equal(/of their kernel time/.test(text), unknown > 0, where);
      assertShare(text, ns(slowest), sum(known.map(ns)), false, where);
    } else if (section === 'op' && label === 'First to last start') {
      assertShare(text.split(', ').at(-1), slowest.kernel_first_to_last_start_cycles, slowest.kernel_cycles, false, where);
    } else if (section === 'op' && RISC_COLUMNS[row] && /^[\d.]+ %$/.test(text)) {
      assertShare(text, slowest[`${RISC_COLUMNS[row]}_kernel_cycles`], slowest.kernel_cycles, false, where);
    } else if (section === 'op' && ((RISC_COLUMNS[row] && !/waits/.test(text)) || label === 'Of RISC')) {
      assert.ok(shareIn(text).percent <= 100, where);
      // The zones of a single op are all that there are.
      if (report.ops.length > 1) continue;
      const ofRisc = timeOf(stacks, label ? RISC_NAMES[second] : row), name = label ? row : text.replace(/ (≥ )?[\d.]+ %$/, '');
      assert.ok(!ofRisc.isUnlimited, where);
      assertShare(text.slice(label ? 0 : name.length), ofRisc.self.get(name) ?? 0, ofRisc.all, ofRisc.unknown > 0, where);
    } else if (section === 'op' && label === 'Slowest core') {
      assert.match(text, /over the median$/, where);
    } else if (section === 'kernels') {
      assert.equal(unknown, 0, where);
      const own = sum(report.ops.filter((op) => (op.name ?? `program ${op.program}`) === row).map(ns));
      assertShare(text, own, sum(known.map(ns)), false, where);
    } else {
      // From the program: the terminal or JSON says the same.
      const numbers = [...text.matchAll(/([\d.]+)(?: to ([\d.]+))? %/g)].flatMap(([, one, two]) => [one, two].filter(Boolean));
      for (const number of numbers) assert.ok(isSaid(number, terminal, [report, explained]), where);
    }
  }
  assert.deepEqual(complaints, [], what);
  await close();
  return count;
}

/** Whether a percentage is one of the terminal, or of JSON. */
function isSaid(number, terminal, json) {
  if (terminal.includes(`${number} %`) || terminal.includes(` ${number} `) || terminal.includes(` ${Number(number).toFixed(1)} `)) return true;
  const digits = number.split('.')[1]?.length ?? 0;
  const isIn = (value, key) => typeof value === 'number' ? /percent|mean|value|median|min|max/.test(key) && value.toFixed(digits) === number || /percent/.test(key) && Math.abs(value - Number(number)) < 0.0501
    : value !== null && typeof value === 'object' && Object.entries(value).some(([inner, of]) => isIn(of, Array.isArray(value) ? key : inner));
  return json.some((document) => isIn(document, ''));
}

test('every share on a page is that of the terminal and JSON, or is said to be the least or unknown', async () => {
  let count = 0;
  for (const input of inputs()) count += await judge(input, `${input}, KPROF_SHOWN_SEED=${SEED}`);
  assert.ok(count > 20 * COUNT, `${count} shares`);
});

test('a stretch of the timeline has no cycles of zones that are open', async () => {
  writeUnknown();
  exported('open.csv', 'stretch.html');
  const { page, complaints, close } = await open('stretch.html', { address: '#stretch=0-8010' });
  await page.waitForSelector('.detail[data-stretch="whole"]');
  const rows = async () => (await page.$$eval('#timeline .detail tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)))).sort();
  assert.deepEqual(await rows(), [
    ['BRISC-FW', 'BR', '1', '20', '≥ 0.24 %', '8,010'], ['BRISC-KERNEL', 'BR', '1', '20', '≥ 0.24 %', '7,990'], ['LOAD', 'BR', '1 +1 open', '10', '≥ 0.12 %', '10'],
  ]);
  assert.deepEqual(complaints, []);
  await close();
  exported('hang.csv', 'stretch-of-hang.html');
  const hang = await open('stretch-of-hang.html', { address: '#stretch=0-50' });
  await hang.page.waitForSelector('.detail[data-stretch="whole"]');
  const shares = await hang.page.$$eval('#timeline .detail tbody tr', (rows) => rows.map((row) => row.children[4].textContent));
  assert.deepEqual([...new Set(shares)], ['–']);
  await hang.close();
});

test('the page of an ops CSV says what it lacks', async () => {
  const input = writeOpsCsv();
  exported(input, 'lacking.html');
  const { page, complaints, close } = await open('lacking.html');
  assert.match(await page.innerText('#summary .verdict'), /Lost: unknown; an ops CSV does not contain losses\.$/);
  const figure = (term) => page.textContent(`#summary dt:text-is("${term}") + dd`);
  assert.equal(await figure('Kernels ran'), '≥ 6.500 µs1 op not known');
  assert.equal(await figure('Between ops'), '≥ 900 ns1 gap not known');
  assert.deepEqual(complaints, []);
  await close();
});
