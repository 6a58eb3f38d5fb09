// Memory while ops run, as the page shows it. The recording `tests/captures/memory/ops.kprof` is made by the test of
// `kprof memory`: of a program's op whose memory is unknown, of `Ones` (700), which makes a tensor of 100 bytes in L1, of
// `Add` (701), which has circular buffers and kernels and makes 32 bytes in DRAM, and of `Copy` (702), of which nothing is
// known. L1 has 1,000 bytes, of which 100 are reserved. Everything else is compared with `kprof memory`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { KPROF, exported, folder, number, open, picture, texts, wideOf } from './browser.js';

const CAPTURE = resolve(import.meta.dirname, '../captures/memory/ops.kprof');
const memory = (...args) => execFileSync(KPROF, ['memory', CAPTURE, ...args], { cwd: folder, encoding: 'utf8' });
const cells = (page, selector) => page.$$eval(`${selector} tbody tr`, (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const rects = (page, selector, ...keys) => page.$$eval(selector, (found, keys) => found.map((rect) => keys.map((key) => rect.getAttribute(key))), keys);

describe('memory of two ops', () => {
  let report, told;
  before(async () => {
    told = JSON.parse(memory('--json'));
    exported(CAPTURE, 'memory.html');
    report = await open('memory.html');
  });
  after(async () => {
    assert.deepEqual(report.complaints, []);
    await report.close();
  });

  test('the peaks say how full, where, in which op and on which line, and how much room is left', async () => {
    const { page } = report;
    const figures = await page.$$eval('#memory .figures > div', (all) => all.map((one) => [one.querySelector('dt').textContent, one.querySelector('.figure').textContent, one.querySelector('.muted')?.textContent ?? '']));
    assert.deepEqual(figures, [
      ['L1 at its peak', '328 of 1,000 bytes', '32.8 %, on 1-1:2-1, during Add (701), called at model.py:12, Model.mlp'],
      ['Free in L1 then', '672 bytes', '672 in one piece'],
      ['In L1 without a later use', '100 bytes', '1 tensor'],
      ['DRAM at its peak', '32 of 5,000 bytes', '0.6 %, in each bank, during Add (701), called at model.py:12, Model.mlp'],
      ['Free in DRAM then', '4,968 bytes', ''],
    ]);
    await picture(page, 'memory.png');
  });

  test('the chart tells classes apart, by their heights, below the capacity', async () => {
    const { page } = report;
    const drawn = await rects(page, '#memory-chart rect[data-class]', 'data-row', 'data-class', 'data-bytes', 'height', 'y');
    assert.deepEqual(drawn.map(([row, name, bytes]) => [row, name, bytes]), [
      ['0', 'reserved', '100'], ['0', 'buffers', '100'],
      ['1', 'reserved', '60'], ['1', 'kernels', '40'], ['1', 'circular-buffers', '128'], ['1', 'outlived', '100'],
    ]);
    const [[capacity, limit]] = await rects(page, '#memory-chart line.limit', 'data-capacity', 'y1');
    assert.equal(capacity, '1000');
    const [bottom] = drawn.map(([, , , height, y]) => Number(height) + Number(y)).sort((a, b) => b - a), scale = (bottom - Number(limit)) / 1000;
    for (const [, name, bytes, height] of drawn) assert.ok(Math.abs(Number(height) - bytes * scale) < 1e-6, `${name}: ${height} for ${bytes} bytes`);
    // Each part stands on the one before.
    for (const row of ['0', '1']) {
      let below = bottom;
      for (const [, , , height, y] of drawn.filter(([of]) => of === row)) {
        assert.ok(Math.abs(below - Number(height) - Number(y)) < 1e-6);
        below = Number(y);
      }
    }
    // The use during the first op is a lower bound.
    assert.equal((await page.$$('#memory-chart .unknown')).length, 1);
    const colours = new Set((await rects(page, '#memory-chart rect[data-class]', 'fill')).flat());
    assert.equal(colours.size, 5);
    const titles = await texts(page, '#memory-chart .hit title');
    assert.deepEqual(titles, ['Ones (700): at least 200 bytes', 'Add (701): 328 bytes']);
    assert.deepEqual(await texts(page, '.memory-legend strong'), ['60', '40', '128', '0', '100']);
  });

  test('what is at which address is what the terminal shows, for each group of cores', async () => {
    const { page } = report;
    await page.waitForSelector('.memory-op .ranges');
    const rangesOf = (core) => told.memory.filter((row) => row.run_host_id === told.peaks[0].run_host_id && (row.core_ranges === null || row.core_ranges === core))
      .map((row) => [row.memory, row.start, row.size_bytes, row.counted_bytes, row.owner ?? '', row.owner_location ?? ''])
      .sort((one, other) => other[0].localeCompare(one[0]) || one[1] - other[1]);
    const shown = async () => (await cells(page, '.memory-op .ranges')).map((row) => [row[0], number(row[1]), number(row[2]), number(row[3]), row[6], row[7].split(', ')[0]]);
    assert.deepEqual(await shown(), rangesOf('1-1:2-1'));
    assert.deepEqual((await rects(page, '.addresses rect[data-class]', 'data-class', 'data-start', 'data-size')).sort(), [
      ['circular-buffers', '100', '64'], ['circular-buffers', '164', '64'], ['kernels', '20', '20'], ['kernels', '40', '20'], ['outlived', '900', '100'], ['reserved', '0', '100'],
    ]);
    await page.selectOption('#memory select[aria-label="Cores"]', { label: 'cores 6-1' });
    assert.deepEqual(await shown(), rangesOf('6-1'));
    const what = (await cells(page, '.memory-op .ranges')).map((row) => row[4]);
    assert.deepEqual(what, ['reserved', 'circular buffer 3: 2 x 32', 'tensor', 'buffer']);
  });

  test('what makes the peaks is told with its line, as in the terminal', async () => {
    const { page } = report;
    const made = (await cells(page, '#memory .makers')).map(([bytes, , kind, ranges, owner, place, outlived]) => [number(bytes), kind, number(ranges), owner, place, number(outlived)]);
    assert.deepEqual(made, told.makers.map((of) => [of.bytes, of.kind, of.range_count, of.owner ?? '', [of.location, of.module].filter(Boolean).join(', '), of.outlived_bytes]));
    assert.deepEqual(await cells(page, '#memory .outlived'), [['100', '[2, 2] BFLOAT16 TILE', 'ttnn.ones', 'a.py:3', 'Ones (700)']]);
    const terminal = memory();
    for (const line of await texts(page, '#memory > p.muted')) assert.ok(terminal.includes(line), line);
    assert.equal((await texts(page, '#memory > p.muted')).length, 2);
  });

  test('any op can be chosen, in the chart and in the table', async () => {
    const { page } = report;
    await page.click('#memory-chart rect[data-column="0"]');
    assert.equal(await page.textContent('.memory-op h3'), 'Ones (700)');
    await page.waitForSelector('.memory-op .ranges');
    assert.match(await page.textContent('.memory-op'), /free bytes of L1 unknown/);
    assert.match(await page.textContent('.memory-op'), /every worker core; circular buffers and kernels are unknown/);
    assert.deepEqual(await texts(page, '.memory-legend strong'), ['100', 'unknown', 'unknown', '100', '0']);
    await page.click('#memory .scroller tr[data-place] button.open:text("Add (701)")');
    assert.equal(await page.textContent('.memory-op h3'), 'Add (701)');
    const rows = await cells(page, '#memory .scroller[aria-label="Memory by op"]');
    assert.deepEqual(rows.slice(1, 3), [['Add (701)', 'model.py:12, Model.mlp', '328', '128', '100', '672', '672', '32'], ['Ones (700)', '', '≥ 200', '–', '100', '–', '–', '0']]);
  });

  test('DRAM has a chart of its own, and ops that did not run have no time', async () => {
    const { page } = report;
    await page.selectOption('#memory select[aria-label="Memory"]', 'DRAM');
    assert.deepEqual(await rects(page, '#memory-chart rect[data-class]', 'data-row', 'data-class', 'data-bytes'), [['1', 'buffers', '32']]);
    await page.selectOption('#memory select[aria-label="Axis"]', 'time');
    assert.match(await page.textContent('#memory-chart'), /Not known of any op\./);
    await page.selectOption('#memory select[aria-label="Axis"]', 'ops');
    await page.selectOption('#memory select[aria-label="Memory"]', 'L1');
  });

  test('nothing scrolls sideways on a narrow page', async () => {
    const narrow = await open('memory.html', { width: 1000, dark: true });
    await narrow.page.waitForSelector('.memory-op .ranges');
    assert.deepEqual((await wideOf(narrow.page)).filter((text) => text.startsWith('HTML')), []);
    assert.deepEqual(narrow.complaints, []);
    await narrow.close();
  });
});

test('a recording without memory has no such section', async () => {
  execFileSync(KPROF, ['capture', '--ops', '2', '--grid', '2x1', '-o', 'none.kprof'], { cwd: folder, stdio: 'ignore' });
  exported('none.kprof', 'none.html');
  const { page, complaints, close } = await open('none.html');
  assert.equal(await page.isHidden('#memory'), true);
  assert.deepEqual(await texts(page, '#bar a:text("Memory")'), []);
  assert.deepEqual(complaints, []);
  await close();
});
