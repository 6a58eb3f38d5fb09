// The timeline judged by its pixels: each zone that is over two pixels wide is drawn at its width,
// whatever lies beside it. Where zones lie follows from the lines that these tests write into logs.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { exported, factsOf, folder, open, settled, view } from './browser.js';
import { writeLog } from './logs.js';

const GUTTER = 124, RULER = 24, OPS = 30, HEAD = 22, LEVEL = 17;
const RISCS = ['BRISC', 'NCRISC', 'TRISC_0', 'TRISC_1', 'TRISC_2'];
const WIDTHS = [1440, 800];
/** Cycles of a kernel; a window of 1,440 pixels shows about 800 of them in a pixel. */
const CYCLES = 1_000_000;

/** Numbers between 0 and 1, the same in every run. */
function* random(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Zones of a kernel, one after the other: crowds of tiny ones, and wide ones wherever they fall. */
function zonesOf(seed) {
  const numbers = random(seed), next = () => numbers.next().value;
  const zones = [];
  let time = 100;
  while (time < CYCLES * 0.97) {
    const isCrowd = next() < 0.5;
    for (let left = isCrowd ? 1 + Math.floor(next() * 300) : 1; left > 0; left--) {
      const cycles = Math.ceil(isCrowd ? next() * 8 : CYCLES * 10 ** (-4 * next()));
      if (time + cycles > CYCLES - 100) break;
      zones.push({ name: isCrowd ? 'tiny' : `wide-${zones.length % 3}`, start: time, end: time + cycles });
      time += cycles + 1 + Math.floor(next() * (isCrowd ? 6 : 3));
    }
  }
  return zones;
}

/** A lane as found in the field: hundreds of tiny zones, then one that takes nearly everything. */
function oneWideZone() {
  const zones = Array.from({ length: 300 }, (_, i) => ({ name: 'tiny', start: 100 + 12 * i, end: 106 + 12 * i }));
  return [...zones, { name: 'wide-0', start: 3705, end: CYCLES - 200 }, { name: 'tiny', start: CYCLES - 190, end: CYCLES - 180 }];
}

const recordings = [oneWideZone(), ...Array.from({ length: 49 }, (_, i) => zonesOf(i + 1))];

/** Writes a page whose five lanes hold five of the recordings. */
function writePage(name, lanes) {
  const lines = [];
  lanes.forEach((zones, lane) => {
    const push = (id, time, name, type) => lines.push([1, 2, RISCS[lane], id, 1000 + time, 1, name, type, 3, '/k/zones.cpp']);
    const kernel = `${RISCS[lane].split('_')[0]}-KERNEL`;
    push(1, 0, kernel, 'START');
    for (const zone of zones) {
      const id = zone.name === 'tiny' ? 10 : 11 + Number(zone.name.at(-1));
      push(id, zone.start, zone.name, 'START');
      push(id, zone.end, zone.name, 'END');
    }
    push(1, CYCLES, kernel, 'END');
  });
  writeLog(join(folder, `${name}.csv`), lines);
  exported(`${name}.csv`, `${name}.html`);
}

/** Colours of a row of pixels across the canvas. */
const colours = (page, y) => page.$eval('canvas.scene', (canvas, y) => {
  const { data } = canvas.getContext('2d').getImageData(0, y, canvas.width, 1);
  return Array.from({ length: canvas.width }, (_, x) => `${data[4 * x]} ${data[4 * x + 1]} ${data[4 * x + 2]} ${data[4 * x + 3]}`);
}, y);

/** What is wrong with the zones of a lane: those over two pixels that are not drawn from edge to edge. */
async function wrongOf(page, lane, zones, shown) {
  // Near the top of the zones' boxes, where no name is written.
  const pixels = await colours(page, RULER + OPS + HEAD + lane * (2 * LEVEL + 6) + 3 + LEVEL + 1);
  const perCycle = (pixels.length - GUTTER) / shown.span;
  const x = (cycle) => GUTTER + (cycle - shown.start) * perCycle;
  const wrong = [], seen = new Map();
  for (const { name, start, end } of zones) {
    // Zones that end or begin outside of the view end at its edge. A gap of a pixel parts zones.
    const [x0, x1] = [Math.max(x(start), GUTTER), Math.min(x(end), pixels.length)];
    if (x(end) - x(start) <= 2 || x1 - x0 <= 2) continue;
    // The first and the last pixel may belong to a neighbour in part.
    const inside = pixels.slice(Math.ceil(x0) + 1, Math.floor(x1) - 1);
    const whole = seen.get(name) ?? inside[0];
    if (inside.length) seen.set(name, whole);
    if (inside.some((colour) => colour !== whole)) wrong.push({ name, start, end, pixels: x1 - x0, colours: [...new Set(inside)].slice(0, 4) });
  }
  const names = [...seen].filter(([name]) => name !== 'tiny'), nothing = pixels.at(-1);
  assert.equal(new Set(names.map(([, colour]) => colour)).size, names.length, 'names share a colour');
  return { wrong, isEmpty: names.some(([, colour]) => colour === nothing && shown.span > CYCLES) };
}

before(() => {
  for (let first = 0; first < recordings.length; first += 5) writePage(`lanes-${first}`, recordings.slice(first, first + 5));
});

for (const width of WIDTHS) {
  test(`every zone of over two pixels is drawn at its width in a window of ${width} pixels`, async () => {
    let count = 0;
    for (let first = 0; first < recordings.length; first += 5) {
      const { page, complaints, close } = await open(`lanes-${first}.html`, { width });
      await settled(page);
      const lanes = recordings.slice(first, first + 5);
      for (const time of ['', `#time=0-${CYCLES / 10}`, `#time=${CYCLES / 2}-${CYCLES / 2 + 3000}`]) {
        if (time) await page.evaluate((time) => { location.hash = time; }, time);
        await settled(page);
        const shown = await view(page);
        for (const [lane, zones] of lanes.entries()) {
          const { wrong, isEmpty } = await wrongOf(page, lane, zones, shown);
          assert.deepEqual(wrong.slice(0, 3), [], `recording ${first + lane}, ${time || 'all'}, ${wrong.length} zones`);
          assert.ok(!isEmpty, `recording ${first + lane}: zones look like nothing`);
          count += 1;
        }
      }
      // The test reads the pixels, not the page.
      assert.deepEqual(complaints.filter((text) => !text.includes('getImageData')), []);
      await close();
    }
    assert.equal(count, 3 * recordings.length);
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
  const y = RULER + OPS + HEAD + 3 + 2 * LEVEL + 1;
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
