// The timeline judged by its pixels: each zone that is over two pixels wide is drawn at its width,
// whatever lies beside it. Where zones lie follows from the lines of logs.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { exported, factsOf, folder, open, settled, view } from './browser.js';
import { writeLog } from './logs.js';

const GUTTER = 124, RULER = 24, OPS = 24, HEAD = 22, LEVEL = 17, POINTS = 9, PLOT = 34;
const RISCS = ['BRISC', 'NCRISC', 'TRISC_0', 'TRISC_1', 'TRISC_2'];
const WIDTHS = [1440, 800];
/** Cycles of a kernel; a window of 1,440 pixels shows about 800 of them in a pixel. */
const CYCLES = 1_000_000;
/** Recordings of five lanes each: a sample, or as many as the full test has. Half of them are new in every run. */
const COUNT = process.env.KPROF_FULL_SIZES ? 200 : 4;
const SEED = Number(process.env.KPROF_TIMELINE_SEED ?? Date.now() % 1_000_000);

/** Numbers between 0 and 1 that follow from a seed. */
function* random(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/**
 * Zones of a kernel, one after the other: crowds of tiny ones, and wide ones wherever they fall. Some of the wide ones
 * hold others.
 */
function zonesOf(seed) {
  const numbers = random(seed), next = () => numbers.next().value;
  const zones = [];
  const fill = (from, to, depth) => {
    let time = from;
    while (time < to) {
      const isCrowd = next() < 0.5;
      for (let left = isCrowd ? 1 + Math.floor(next() * 300 / depth) : 1; left > 0; left--) {
        const cycles = Math.ceil(isCrowd ? next() * 8 : (to - from) * 10 ** (-4 * next()));
        if (time + cycles > to) { time = to; break; }
        const zone = { name: isCrowd ? 'tiny' : `wide-${zones.length % 3}`, start: time, end: time + cycles, depth };
        zones.push(zone);
        if (!isCrowd && depth < 3 && cycles > CYCLES / 50 && next() < 0.5) fill(zone.start + Math.ceil(cycles * 0.1), zone.end - 1, depth + 1);
        time += cycles + 1 + Math.floor(next() * (isCrowd ? 6 : 3));
      }
    }
  };
  fill(100, CYCLES - 100, 1);
  return zones;
}

/** A lane as found in the field: hundreds of tiny zones, then one that takes nearly everything. */
function oneWideZone() {
  const zones = Array.from({ length: 300 }, (_, i) => ({ name: 'tiny', start: 100 + 12 * i, end: 106 + 12 * i, depth: 1 }));
  return [...zones, { name: 'wide-0', start: 3705, end: CYCLES - 200, depth: 1 }, { name: 'tiny', start: CYCLES - 190, end: CYCLES - 180, depth: 1 }];
}

const lanesOf = (recording) => RISCS.map((_, lane) => {
  const number = 5 * recording + lane;
  return number ? zonesOf(recording % 2 ? SEED + number : number) : oneWideZone();
});

/** Writes a log of a recording's lanes: a zone's end comes before the start of the next, and after those within. */
function writeRecording(name, lanes) {
  const lines = [];
  lanes.forEach((zones, lane) => {
    const push = (id, time, name, type) => lines.push([1, 2, RISCS[lane], id, 1000 + time, 1, name, type, 3, '/k/zones.cpp']);
    const id = ({ name }) => name === 'tiny' ? 10 : 11 + Number(name.at(-1));
    const kernel = `${RISCS[lane].split('_')[0]}-KERNEL`;
    const open = [];
    const close = (time) => { while (open.length && open.at(-1).end <= time) { const zone = open.pop(); push(id(zone), zone.end, zone.name, 'END'); } };
    push(1, 0, kernel, 'START');
    for (const zone of zones) {
      close(zone.start);
      push(id(zone), zone.start, zone.name, 'START');
      open.push(zone);
    }
    close(Infinity);
    push(1, CYCLES, kernel, 'END');
  });
  writeLog(join(folder, name), lines);
}

/** Recordings of the repository: device logs, and captures. */
function captures() {
  const home = resolve(import.meta.dirname, '../captures');
  const found = readdirSync(home, { recursive: true }).filter((path) => path.endsWith('.kprof') || path.endsWith('profile_log_device.csv') || /f9_.*\.csv$/.test(path)).sort();
  assert.ok(found.length > 10, found.join());
  return found.map((path) => join(home, path));
}

/** Whole zones of each lane of a log, by chip, core and RISC; in cycles of the chip, each with its depth. */
function zonesOfLog(path) {
  const lines = readFileSync(path, 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
  const titles = lines[1].split(',').map((title) => title.trim());
  const at = (title) => titles.indexOf(title);
  const [chip, x, y, risc, id, time, name, type] = ['PCIe slot', 'core_x', 'core_y', 'RISC processor type', 'timer_id', 'time[cycles since reset]', 'zone name', 'type'].map(at);
  const lanes = new Map();
  for (const line of lines.slice(2)) {
    const cells = line.split(',').map((cell) => cell.trim());
    const key = `${cells[chip]} ${cells[x]}-${cells[y]} ${cells[risc]}`;
    if (!lanes.has(key)) lanes.set(key, { zones: [], open: [] });
    const lane = lanes.get(key), cycle = Number(cells[time]);
    if (cells[type] === 'ZONE_START') lane.open.push({ id: cells[id], name: cells[name], start: cycle, depth: lane.open.length });
    else if (cells[type] === 'ZONE_END' && lane.open.at(-1)?.id === cells[id]) lane.zones.push({ ...lane.open.pop(), end: cycle });
    // Records that do not pair are the subject of other tests.
    else if (cells[type] === 'ZONE_END') lane.isBroken = true;
  }
  for (const [key, lane] of lanes) if (lane.isBroken || lane.open.length || !lane.zones.length) lanes.delete(key);
  return lanes;
}

/** The page's conversion between cycles of a chip and nanoseconds. */
function clockOf({ knots, first_cycle: first }) {
  const along = (value, from, to) => {
    const right = knots.find((knot, index) => index && (knot[from] > value || index === knots.length - 1));
    const left = knots[knots.indexOf(right) - 1];
    return left[to] + (value - left[from]) * (right[to] - left[to]) / (right[from] - left[from] || 1);
  };
  return { first: Number(first), cycleAt: (ns) => along(ns, 1, 0), nsAt: (cycle) => along(cycle, 0, 1) };
}

/** Opens every core, and gives the first row of pixels of each lane's outermost zones, by the lane's name as in a log. */
async function rowsOf(page, facts) {
  // What is open at first is closed by it, too.
  await page.click('#timeline button:text("Open cores")');
  await page.click('#timeline button:text("Open cores")');
  const rows = [];
  let y = RULER;
  const laneHeight = (levels, points) => Math.max(1, levels) * LEVEL + (points ? POINTS : 0) + 6;
  // The host's threads come first.
  if (facts.host) y += HEAD + facts.host.threads.label.reduce((sum, _, thread) => sum + laneHeight(facts.host.threads.levels[thread], facts.host.threads.points[thread]), 0) + facts.host.plots.length * PLOT;
  for (const device of facts.devices) {
    if (facts.devices.length > 1 || facts.host) y += HEAD;
    const levels = facts.ops.device.reduce((most, of, op) => facts.devices[of] === device ? Math.max(most, facts.ops.row[op] + 1) : most, 0);
    if (levels) y += levels * OPS + 6;
    device.cores.forEach(([cx, cy], core) => {
      y += HEAD;
      device.lanes.core.forEach((of, lane) => {
        if (of !== core) return;
        const above = device.lanes.points[lane] ? POINTS : 0;
        rows.push({ name: `${device.chip_id} ${cx}-${cy} ${facts.riscs[device.lanes.risc[lane]]}`, device, y: y + 3 + above });
        y += laneHeight(device.lanes.levels[lane], device.lanes.points[lane]);
      });
    });
  }
  return rows;
}

/** Colours of a row of pixels across the canvas, which is scrolled to show it. */
const colours = (page, y) => page.$eval('canvas.scene', async (canvas, y) => {
  const scroller = canvas.closest('.lanes');
  const next = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (y - scroller.scrollTop < 30 || y - scroller.scrollTop > scroller.clientHeight - 8) {
    scroller.scrollTop = y - 60;
    await next();
    while (canvas.dataset.isWhole !== 'true') await next();
  }
  const { data } = canvas.getContext('2d').getImageData(0, y - scroller.scrollTop, canvas.width, 1);
  return Array.from({ length: canvas.width }, (_, x) => `${data[4 * x]} ${data[4 * x + 1]} ${data[4 * x + 2]} ${data[4 * x + 3]}`);
}, y);

/** Whether nothing is drawn in a pixel, but for the shade of what lies outside of the trace. */
const isEmpty = (colour) => Number(colour.split(' ')[3]) < 30;

/**
 * What is wrong with the zones of a lane at one depth: those over two pixels that are not drawn from edge to edge, and
 * room between zones that is drawn as one. `x` tells where a cycle falls, `seen` the colour of each name.
 */
function wrongOf(pixels, zones, x, seen) {
  const wrong = [], sorted = [...zones].sort((a, b) => a.start - b.start);
  let last = GUTTER;
  for (const { name, start, end } of [...sorted, { name: null, start: Infinity, end: Infinity }]) {
    // Zones that end or begin outside of the view end at its edge. A gap of a pixel parts zones.
    const [x0, x1] = [Math.max(x(start), GUTTER), Math.min(x(end), pixels.length)];
    const between = pixels.slice(Math.ceil(last) + 1, Math.floor(Math.min(x0, pixels.length)) - 1);
    if (between.some((colour) => colour !== 'none' && !isEmpty(colour))) wrong.push({ before: name, at: last, to: x0, colours: [...new Set(between)].slice(0, 4) });
    last = Math.max(last, x1);
    if (name === null || x(end) - x(start) <= 2 || x1 - x0 <= 2) continue;
    // The first and the last pixel may belong to a neighbour in part.
    const inside = pixels.slice(Math.ceil(x0) + 1, Math.floor(x1) - 1).filter((colour) => colour !== 'none');
    const whole = seen.get(name) ?? inside[0];
    if (inside.length) seen.set(name, whole);
    if (inside.some((colour) => colour !== whole || isEmpty(colour))) wrong.push({ name, start, end, pixels: x1 - x0, colours: [...new Set(inside)].slice(0, 4) });
  }
  return wrong;
}

/** Judges the lanes of a page in a few windows; gives how many zones of over two pixels it saw. */
async function judge(input, file, lanes, width, windows) {
  const { page, complaints, close } = await open(file, { width });
  await settled(page);
  const facts = await factsOf(page);
  const rows = (await rowsOf(page, facts)).filter(({ name }) => lanes.has(name));
  assert.ok(rows.length > 0, `${input}: no lane is known`);
  let count = 0;
  for (const time of ['', ...windows(facts)]) {
    if (time) await page.evaluate((time) => { location.hash = `time=${time}`; }, time);
    await settled(page);
    const shown = await view(page), seen = new Map();
    for (const { name, device, y } of rows) {
      const clock = clockOf(device), { zones } = lanes.get(name);
      const [from, to] = [clock.cycleAt(shown.start), clock.cycleAt(shown.start + shown.span)];
      const depths = Math.max(...zones.map(({ depth }) => depth));
      for (let depth = 0; depth <= depths; depth++) {
        // Near the top of the zones' boxes, where no name is written.
        const pixels = await colours(page, y + depth * LEVEL + 1);
        const x = (cycle) => GUTTER + (cycle - clock.first - from) * (pixels.length - GUTTER) / (to - from);
        // Marks of losses lie over zones.
        for (const [index, place] of facts.losses.lane.entries()) {
          if (!place || facts.devices[place[0]] !== device) continue;
          const mark = Math.round(x(clock.first + clock.cycleAt(facts.losses.time_ns[index])));
          for (let at = mark - 3; at <= mark + 3; at++) if (at >= 0 && at < pixels.length) pixels[at] = 'none';
        }
        const ofDepth = zones.filter((zone) => zone.depth === depth);
        // Frames take the colour of their RISC.
        const known = depth < 2 ? new Map() : seen;
        const wrong = wrongOf(pixels, ofDepth, x, known);
        assert.deepEqual(wrong.slice(0, 3), [], `${input}, ${width} pixels, ${time || 'all'}, ${name}, depth ${depth}: ${wrong.length} zones`);
        count += ofDepth.filter(({ start, end }) => x(end) - x(start) > 2 && x(end) > GUTTER && x(start) < pixels.length).length;
      }
    }
  }
  // The test reads the pixels, not the page.
  assert.deepEqual(complaints.filter((text) => !text.includes('getImageData')), [], input);
  await close();
  return count;
}

/** Stretches of a page's ops: the first one, and a hundredth of the whole. */
function stretches(facts) {
  const { start_ns: starts, end_ns: ends } = facts.ops;
  const part = facts.span_ns / 100, middle = facts.span_ns / 2;
  return [...starts.length ? [`${starts[0]}-${ends[0]}`] : [], `${Math.round(middle)}-${Math.round(middle + Math.max(part, 20))}`];
}

for (const width of WIDTHS) {
  test(`every zone of over two pixels of generated recordings is drawn at its width in a window of ${width} pixels`, async () => {
    let count = 0;
    const windows = () => [`0-${CYCLES / 10}`, `${CYCLES / 2}-${CYCLES / 2 + 3000}`];
    for (let recording = 0; recording < COUNT; recording++) {
      const lanes = lanesOf(recording), input = `KPROF_TIMELINE_SEED=${SEED}, recording ${recording}`;
      writeRecording('lanes.csv', lanes);
      exported('lanes.csv', 'lanes.html');
      const kernel = { name: 'kernel', start: 1000, end: 1000 + CYCLES, depth: 0 };
      const known = lanes.map((zones, lane) => [`0 1-2 ${RISCS[lane]}`, { zones: [kernel, ...zones.map((zone) => ({ ...zone, start: zone.start + 1000, end: zone.end + 1000 }))] }]);
      count += await judge(input, 'lanes.html', new Map(known), width, windows);
    }
    assert.ok(count > 100 * COUNT, `${count} zones`);
  });

  test(`every zone of over two pixels of the repository's recordings is drawn at its width in a window of ${width} pixels`, async () => {
    const all = captures();
    // A sample, which others run on in turn.
    const chosen = process.env.KPROF_FULL_SIZES ? all : all.filter((_, index) => index % 3 === SEED % 3);
    for (const path of chosen) {
      exported(path, 'capture.html');
      exported(path, 'capture.csv', '--format', 'device-log');
      const lanes = zonesOfLog(join(folder, 'capture.csv'));
      assert.ok(lanes.size > 0, path);
      const count = await judge(path, 'capture.html', lanes, width, stretches);
      assert.ok(count > 0, path);
    }
  });
}

test('a zone without an end is called open, fades out, and is in no sum', async () => {
  const lines = [];
  const push = (id, time, name, type) => lines.push([1, 2, 'BRISC', id, 1000 + time, 1, name, type, 3, '/k/open.cpp']);
  push(7, 0, 'BRISC-FW', 'START');
  push(8, 10, 'BRISC-KERNEL', 'START');
  push(9, 20, 'LOAD', 'START');
  push(9, 30, 'LOAD', 'END');
  push(9, 40, 'LOAD', 'START');
  push(8, 8000, 'BRISC-KERNEL', 'END');
  push(7, 8010, 'BRISC-FW', 'END');
  writeLog(join(folder, 'open.csv'), lines);
  exported('open.csv', 'open.html');
  const { page, complaints, close } = await open('open.html', { width: 1440 });
  await settled(page);
  const facts = await factsOf(page);
  const row = facts.zones.name.findIndex((name) => facts.names.label[name] === 'LOAD');
  assert.deepEqual(['count', 'open_count', 'total_cycles', 'max_cycles'].map((key) => facts.zones[key][row]), [1, 1, 10, 10]);
  const cells = await page.$$eval('#zones tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)).find(([name]) => name === 'LOAD'));
  assert.deepEqual([cells[3], cells[5]], ['1 +1 open', '10']);
  const shown = await view(page);
  const y = RULER + OPS + 6 + HEAD + 3 + 2 * LEVEL + 1;
  const pixels = await colours(page, y), perCycle = (pixels.length - GUTTER) / shown.span;
  const at = (cycle) => Math.round(GUTTER + (cycle - shown.start) * perCycle);
  assert.notEqual(pixels[at(400)], pixels[at(7990)], 'the zone does not fade');
  await page.click('canvas.scene', { position: { x: at(2000), y: y + 4 } });
  assert.equal(await page.textContent('#timeline .detail .big'), 'open, end not recorded');
  assert.match(await page.textContent('#timeline .detail dt:text-is("Open since") + dd'), /^40 ns from the start, cycle 1,040$/);
  assert.deepEqual(complaints, []);
  await close();
});

test('names of ops and starts of many digits fit into the table of ops at 1440 and at 800 pixels', async () => {
  writeLog(join(folder, 'long.csv'), [0, 1, 2].flatMap((op) => {
    const at = 1000 + op * 300_000, line = (id, time, name, type) => [1, 2, 'BRISC', id, at + time, 1001 + op, name, type, 3, '/k/long.cpp'];
    return [line(8, 0, 'BRISC-KERNEL', 'START'), line(8, 150_000, 'BRISC-KERNEL', 'END')];
  }));
  exported('long.csv', 'long.html');
  for (const width of WIDTHS) {
    const { page, complaints, close } = await open('long.html', { width });
    const cut = await page.$$eval('#ops tbody tr[data-place] td:nth-child(-n+3), #ops thead th', (cells) => cells
      .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent));
    assert.deepEqual(cut, [], `${width} pixels`);
    assert.deepEqual(complaints, []);
    await close();
  }
});
