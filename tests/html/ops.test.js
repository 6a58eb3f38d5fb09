// The page of an ops CSV. Expected figures are those of the lines that this test writes.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { exported, folder, open, picture, texts, wideOf } from './browser.js';

const TITLES = 'OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,INPUT_0_MEMORY,LOC';
/** Name, device, kernel and gap before in nanoseconds, cores. */
const OPS = [['Tilize', 0, 4000, 0, 64], ['Soft<b>max', 0, 1500, 90000, 8], ['Reduce', 0, 2500, '', 1], ['Tilize', 1, 3000, 0, 64], ['Copy', 1, 250, 700, 2]];
const lines = OPS.map(([name, device, kernel, gap, cores], index) => `${name},tt_dnn_device,${1024 * (index + 1)},${device},{},${index},${kernel},${gap},${cores},DEV_0_L1,model.py:${index}`);

describe('an ops CSV', () => {
  let report;
  before(async () => {
    writeFileSync(join(folder, 'ops.csv'), [TITLES, ...lines, 'cut,tt'].join('\n'));
    exported('ops.csv', 'ops.html');
    report = await open('ops.html');
  });

  test('every op is in the table with its time, gap and cores', async () => {
    const { page } = report;
    const rows = await page.$$eval('#ops tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    // Op, row of the file, device, time, gap; cores come last. A first op has no gap before it.
    assert.deepEqual(rows.slice(0, 5).map((row) => [...row.slice(0, 5), row.at(-1)]), [
      ['Tilize', '2', '0', '4.000 µs', '–', '64'], ['Soft<b>max', '3', '0', '1.500 µs', '90.00 µs', '8'], ['Reduce', '4', '0', '2.500 µs', '–', '1'],
      ['Tilize', '5', '1', '3.000 µs', '–', '64'], ['Copy', '6', '1', '250 ns', '700 ns', '2'],
    ]);
    await picture(page, 'ops-csv.png');
  });

  test('sums, the longest gap and the slowest op are told, and what is not known', async () => {
    const { page } = report;
    assert.deepEqual((await texts(page, '#summary dd .figure')).slice(0, 4), ['≥ 11.25 µs', '≥ 90.70 µs', 'before Soft<b>max (row 3)', 'Tilize (row 2)']);
    assert.equal(await page.textContent('#op-title'), 'Slowest op');
    assert.match(await page.textContent('#summary .verdict'), /Lost: unknown; an ops CSV does not contain losses\./);
    assert.match(await page.textContent('#gaps'), /1 gap not known/);
    assert.match(await page.textContent('#absent'), /Single cores and RISCs.*kprof export FOLDER/s);
    assert.match(await page.textContent('#notes'), /expected 11 cells, found 2 cells/);
  });

  test('a link goes to its op, and a filter leaves the ops that fit', async () => {
    const { page } = report;
    await page.click('#summary a:text("before Soft")');
    assert.equal(await page.textContent('#op h3'), 'Soft<b>max (row 3)');
    await page.fill('#ops input', 'tilize');
    assert.equal(await page.textContent('#ops .section-head .muted'), '2 of 6 ops');
    // A column that TT-Metal's reports do not have.
    assert.match(await page.textContent('#op'), /LOC: model\.py:1/);
    await page.fill('#ops input', 'model.py:4');
    assert.equal(await page.textContent('#ops .section-head .muted'), '1 of 6 ops');
    assert.deepEqual(report.complaints, []);
    await report.close();
  });
});

/** Name, module, line, kernel and host time in nanoseconds. */
const CALLS = [
  ['Matmul', 'Model.layers.0.attention.q_proj', 3000, 800], ['Softmax', 'Model.layers.0.attention', 1000, 700], ['Matmul', 'Model.layers.0.mlp[a.b]', 2000, ''],
  ['Matmul', 'Model.layers.1.attention.q_proj', 5000, 900], ['Matmul', 'Model.head<x>', '', 100], ['Copy', '', 500, 50],
];

describe('an ops CSV whose ops have modules', () => {
  let report;
  before(async () => {
    const lines = CALLS.map(([name, module, kernel, host], index) => `${name},tt_dnn_device,${1024 * (index + 1)},0,{},${index},${host},${kernel},0,1,${module}`);
    writeFileSync(join(folder, 'modules.csv'), ['OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,HOST DURATION [ns],DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,MODULE', ...lines].join('\n'));
    exported('modules.csv', 'modules.html');
    report = await open('modules.html', { width: 1440 });
  });
  /** Name, ops, time, share and host time of the rows in sight. */
  const rowsOf = (page) => page.$$eval('#modules tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].slice(0, 5).map((cell) => cell.textContent)));
  const toggle = (page, name) => page.locator('#modules tbody tr[data-place]', { hasText: name }).first().locator('button.open').click();

  test('modules are a tree with the sums of what is in them', async () => {
    const { page } = report;
    // Small trees are open, but for the deepest level.
    assert.deepEqual(await rowsOf(page), [
      ['▾Model', '5', '11.00 µs', '95.7 %', '2.500 µs'], ['▾layers', '4', '11.00 µs', '95.7 %', '2.400 µs'],
      ['▾0', '3', '6.000 µs', '52.2 %', '1.500 µs'], ['▾attention', '2', '4.000 µs', '34.8 %', '1.500 µs'], ['▸q_proj', '1', '3.000 µs', '26.1 %', '800 ns'],
      ['Softmax', '1', '1.000 µs', '8.7 %', '700 ns'], ['▾mlp[a.b]', '1', '2.000 µs', '17.4 %', '–'], ['Matmul', '1', '2.000 µs', '17.4 %', '–'],
      ['▾1', '1', '5.000 µs', '43.5 %', '900 ns'], ['▾attention', '1', '5.000 µs', '43.5 %', '900 ns'], ['▸q_proj', '1', '5.000 µs', '43.5 %', '900 ns'],
      ['▾head<x>', '1', '–', '–', '100 ns'], ['Matmul', '1', '–', '–', '100 ns'], ['▾no module', '1', '500 ns', '4.3 %', '50 ns'], ['Copy', '1', '500 ns', '4.3 %', '50 ns'],
    ]);
    assert.equal(await page.textContent('#modules .section-head .muted'), '1 op of no module; no time per iteration: no sequence of ops repeats in these rows');
    await picture(page, 'modules.png');
  });

  test('a module opens and closes, by the pointer and by a key', async () => {
    const { page } = report;
    const before = await rowsOf(page);
    const at = before.findIndex(([name]) => name === '▾head<x>');
    assert.deepEqual(before[at + 1], ['Matmul', '1', '–', '–', '100 ns']);
    await toggle(page, 'head<x>');
    const closed = [...before.slice(0, at), ['▸head<x>', ...before[at].slice(1)], ...before.slice(at + 2)];
    assert.deepEqual(await rowsOf(page), closed);
    await page.locator('#modules tbody tr[data-place]').nth(at).focus();
    await page.keyboard.press('Enter');
    assert.deepEqual(await rowsOf(page), before);
    // What is closed hides all that is within.
    await toggle(page, 'layers');
    assert.deepEqual((await rowsOf(page)).map(([name]) => name), ['▾Model', '▸layers', '▾head<x>', 'Matmul', '▾no module', 'Copy']);
    await toggle(page, 'layers');
    assert.deepEqual(await rowsOf(page), before);
  });

  test('the ops of a module are left by a click, and sorting by time keeps every row', async () => {
    const { page } = report;
    await page.locator('#modules tbody tr[data-place]', { hasText: 'head<x>' }).first().locator('td').nth(1).click();
    assert.equal(await page.inputValue('#ops input'), 'Model.head<x>');
    assert.equal(await page.textContent('#ops .section-head .muted'), '1 of 6 ops');
    await page.fill('#ops input', '');
    await page.click('#modules thead button:text("Time")');
    assert.equal((await rowsOf(page))[0][0], '▾Model');
    assert.deepEqual(await wideOf(page), []);
    assert.deepEqual(report.complaints, []);
    await report.close();
  });

  test('without modules the page has no such part', async () => {
    const other = await open('ops.html');
    assert.equal(await other.page.$eval('#modules', (section) => section.hidden), true);
    assert.equal(await other.page.$('#bar a[href="#modules"]'), null);
    await other.close();
  });
});

describe('an ops CSV of which only some iterations are whole', () => {
  // The first pass lacks its first op, two others lack their last; `x` and `y` are of no pass.
  const passes = [['bcd', 1000], ['abcd', 2000], ['x', 500], ['abcd', 4000], ['ab', 100], ['abcd', 3000], ['ab', 100], ['y', 10]];
  test('the time of an iteration is that of the whole ones', async () => {
    const ops = passes.flatMap(([names, kernel]) => [...names].map((name) => [name, kernel]));
    const lines = ops.map(([name, kernel], index) => `Op_${name},tt_dnn_device,${1024 * (index + 1)},0,{},${index},5,${kernel},0,1,M.${name}`);
    writeFileSync(join(folder, 'passes.csv'), ['OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,HOST DURATION [ns],DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,MODULE', ...lines].join('\n'));
    exported('passes.csv', 'passes.html');
    const report = await open('passes.html', { width: 1440 });
    const rows = await report.page.$$eval('#modules tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const perIteration = Object.fromEntries(rows.map((cells) => [cells[0].slice(1), cells[3]]));
    assert.equal(await report.page.locator('#modules thead th').nth(3).textContent(), 'Per iteration');
    assert.equal(perIteration.M, '12.00 µs');
    assert.equal(perIteration.a, '3.000 µs');
    assert.equal(perIteration.x, '–');
    assert.match(await report.page.textContent('#modules .section-head .muted'), /; 3 iterations without 9 ops$/);
    await report.close();
  });
});

const MODEL_TITLES = 'OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,AVAILABLE WORKER CORE COUNT,HOST START TS,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]';
const tensorTitles = (name) => ['W_PAD[LOGICAL]', 'Z_PAD[LOGICAL]', 'Y_PAD[LOGICAL]', 'X_PAD[LOGICAL]', 'DATATYPE', 'MEMORY'].map((title) => `${name}_${title}`).join(',');
/** A tensor of 2,048 x 1,024 BFLOAT16 in DRAM: in and out, 8 MiB are 29.13 µs at 288 GB/s. */
const TENSOR = '1,1,2048,1024,BFLOAT16,DEV_0_DRAM_INTERLEAVED';
const LIMIT_NS = 2 * 2 * 2048 * 1024 / 288;
/** Name, kernel in nanoseconds, cores. A long name, as those of convolutions are. */
const ITERATION = [['PermuteDeviceOperation', LIMIT_NS, 64], ['UnaryDeviceOperation', 12 * LIMIT_NS, 1], [`Generic${'Long'.repeat(40)}DeviceOperation`, 60_000, 64]];

describe('an ops CSV of two iterations', () => {
  let report;
  before(async () => {
    const rows = [50_000_000, 1000].flatMap((gap, pass) => ITERATION.map(([name, kernel, cores], index) => [
      name, 'tt_dnn_device', 1024 * (pass * 3 + index + 1), 0, 'wormhole_b0', '{}', '', cores, 64, pass * 3 + index, Math.round(kernel), gap, TENSOR, ',,,,,', TENSOR].join(',')));
    writeFileSync(join(folder, 'model.csv'), [[MODEL_TITLES, ...['INPUT_0', 'INPUT_1', 'OUTPUT_0'].map(tensorTitles)].join(','), ...rows].join('\n'));
    exported('model.csv', 'model.html');
    report = await open('model.html', { width: 1440 });
  });

  test('it opens with op codes over the last iteration, beside the limits of their shapes', async () => {
    const { page } = report;
    assert.match(await page.textContent('#summary .window'), /In the steady part \(the last iteration: rows 5 to 7/);
    const rows = await page.$$eval('#groups tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const whole = ITERATION.reduce((sum, [, kernel]) => sum + Math.round(kernel), 0);
    // Op code, ops, time, share, FLOPs, DRAM, bound, limit, time over limit, cores.
    assert.deepEqual(rows[0], ['UnaryDeviceOperation', '1', '349.5 µs', `${(Math.round(12 * LIMIT_NS) / whole * 100).toFixed(1)} %`, '–', '8.3 %', 'neither', '29.13 µs', '12', '1 of 64']);
    const box = await page.locator('#groups tbody tr[data-place]').first().boundingBox();
    assert.ok(box.y + box.height <= 1000, 'in sight without scrolling');
    const finding = await page.textContent('#summary .findings li');
    assert.match(finding, /^UnaryDeviceOperation takes .* at the peaks of the whole chip it would take 29 us, 12 times less/);
    assert.match(finding, /Why: it runs on 1 of 64 cores/);
  });

  test('each op of the last iteration with an exact limit is a point, which leads to the op', async () => {
    const { page } = report;
    const points = await page.$$eval('.roofline circle', (points) => points.map((point) => [point.dataset.op, Number(point.getAttribute('cx')), Number(point.getAttribute('cy'))]));
    // The limit of the third op is a lower bound.
    assert.deepEqual(points.map(([op]) => op).sort(), ['3', '4']);
    const at = new Map(points.map(([op, x, y]) => [op, { x, y }]));
    // Both have one limit; an op of a longer time lies higher.
    assert.equal(at.get('4').x, at.get('3').x);
    assert.ok(at.get('4').y < at.get('3').y);
    // An op that takes as long as its limit lies on the line.
    const [[x1, y1, x2, y2]] = await page.$$eval('.roofline line.limit', (lines) => lines.map((line) => ['x1', 'y1', 'x2', 'y2'].map((side) => Number(line.getAttribute(side)))));
    const onLine = (x) => y1 + (x - x1) / (x2 - x1) * (y2 - y1);
    assert.ok(at.get('4').y < onLine(at.get('4').x), 'above the line');
    assert.ok(Math.abs(at.get('3').y - onLine(at.get('3').x)) < 1, 'on the line');
    await page.click('.roofline circle[data-op="4"]');
    assert.equal(await page.textContent('#op h3'), 'UnaryDeviceOperation (row 6)');
    assert.match(await page.textContent('#op ul'), /it runs on 1 of 64 cores\. use more cores/);
  });

  test('ops are those of the last iteration, and all if asked for', async () => {
    const { page } = report;
    assert.equal(await page.textContent('#ops .section-head .muted'), '3 ops');
    await page.selectOption('#ops select', 'all');
    assert.equal(await page.textContent('#ops .section-head .muted'), '6 ops');
    await page.click('#groups tbody tr[data-place="0"]');
    assert.equal(await page.textContent('#ops .section-head .muted'), '2 of 6 ops');
  });

  test('nothing scrolls sideways at 1440 pixels', async () => {
    const { page } = report;
    assert.deepEqual(await wideOf(page), []);
    await picture(page, 'ops-csv-model.png');
    assert.deepEqual(report.complaints, []);
    await report.close();
  });
});

describe('a folder with a device log and its ops CSV', () => {
  let report;
  before(async () => {
    const [logs, reports] = ['.logs', 'reports/today'].map((name) => join(folder, 'described', name));
    [logs, reports].forEach((path) => mkdirSync(path, { recursive: true }));
    copyFileSync(resolve(import.meta.dirname, '../captures/mesham-tt-sim/wormhole-noc-4096/profile_log_device.csv'), join(logs, 'profile_log_device.csv'));
    // The launch of the log, with a tensor of 2 KiB in and out of DRAM: 14 ns at 288 GB/s.
    const tensor = '1,1,32,32,BFLOAT16,DEV_0_DRAM_INTERLEAVED';
    const titles = [MODEL_TITLES, 'DEVICE FW START CYCLE', ...['INPUT_0', 'INPUT_1', 'OUTPUT_0'].map(tensorTitles)];
    const row = ['Copy', 'tt_dnn_device', 0, 0, 'wormhole_b0', '{}', '', 64, 64, 0, 10_422, 0, 19_245_152_864, tensor, ',,,,,', tensor];
    writeFileSync(join(reports, 'ops_perf_results_today.csv'), [titles.join(','), row.join(',')].join('\n'));
    exported('described', 'described.html');
    report = await open('described.html', { width: 1440 });
  });

  test('op codes are held against their limits and against the NoC, and lead to their ops', async () => {
    const { page } = report;
    assert.deepEqual(await texts(page, '#summary .window'), [
      '11 us = 10 us of kernels + 962 ns of launches (firmware, and up to 6 us before each op)',
      'ops_perf_results_today.csv describes the ops of 1 of 1 launches.',
    ]);
    const rows = await page.$$eval('#groups tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    // 8 x 4,096 bytes over one link, which carries 32 in each of 10,422 cycles.
    assert.deepEqual(rows, [['Copy', '1', '10.42 µs', '100.0 %', '–', '0.1 %', '9.8 %', 'neither', '14.2 ns', '733', '64 of 64']]);
    await page.click('#groups tbody tr[data-place="0"]');
    assert.equal(await page.textContent('#op h3'), 'Copy 0');
    assert.equal(await page.textContent('#summary .findings li a'), 'Copy 0');
    assert.deepEqual(await wideOf(page), []);
    await picture(page, 'described.png');
    assert.deepEqual(report.complaints, []);
    await report.close();
  });
});

test('another ops CSV is compared as kprof diff does', async () => {
  // Four passes; the second op takes twice as long in the other file, and the gaps are the same.
  const file = (name, softmax) => {
    const passes = Array.from({ length: 4 }, () => [['Tilize', 4000, 700], ['Softmax', softmax, 300]]).flat();
    const rows = passes.map(([op, kernel, gap], index) => `${op},tt_dnn_device,${1024 * (index + 1)},0,{},${index},${kernel},${gap},64,DEV_0_L1,model.py:1`);
    writeFileSync(join(folder, name), [TITLES, ...rows].join('\n'));
  };
  file('one.csv', 1500);
  file('two.csv', 3000);
  exported('one.csv', 'compared-ops.html', '--compare', 'two.csv');
  const { page, complaints, close } = await open('compared-ops.html');
  assert.equal(await page.textContent('#comparison-title'), 'Comparison with two.csv');
  const rows = await page.$$eval('#comparison tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.deepEqual(rows.map((row) => [row[1], row[3], row[4], row[5]]).sort(), [['Softmax', '1.500 µs', '3.000 µs', '2.000 ×'], ['Tilize', '4.000 µs', '4.000 µs', '1.000 ×']]);
  assert.match(await page.textContent('#comparison'), /An iteration with its gaps on device 0: A 6\.500 µs, B 8\.000 µs, 1\.231 ×/);
  assert.equal(await page.locator('#bar a[href="#comparison"]').count(), 1);
  assert.deepEqual(complaints, []);
  await close();
  exported('one.csv', 'alone.html');
  const alone = await open('alone.html');
  assert.equal(await alone.page.locator('#bar a[href="#comparison"]').count(), 0);
  await alone.close();
});

test('names of ops are whole at 1440 and at 800 pixels, and longer ones than fit are told by their title', async () => {
  const names = ['MatmulDeviceOperation', 'DispatchDeviceOperation', 'AllGatherMinimalMatmulAsyncDeviceOperation', `Generic${'Long'.repeat(40)}DeviceOperation`];
  // A matmul of [3200 x 2048] and [2048 x 2048] is called by its shape, too.
  const tensor = (rows, columns) => `1,1,${rows},${columns},BFLOAT16,DEV_0_DRAM_INTERLEAVED`;
  const rows = names.map((name, index) => [name, 'tt_dnn_device', 1024 * (index + 1), 0, 'wormhole_b0', '{}', 'HiFi2', 64, 64, index, 123_456_789, 98_765_432, tensor(3200, 2048), tensor(2048, 2048), tensor(3200, 2048)].join(','));
  writeFileSync(join(folder, 'names.csv'), [[MODEL_TITLES, ...['INPUT_0', 'INPUT_1', 'OUTPUT_0'].map(tensorTitles)].join(','), ...rows].join('\n'));
  exported('names.csv', 'names.html');
  const files = ['tt-perf-report/bh_p100_dlv3.csv', 'tt-mlir/matmuls_falcon3_1b_interleaved.csv', 'tt-forge-fe/ops_perf_results.csv'];
  files.forEach((file, index) => exported(resolve(import.meta.dirname, '../captures', file), `names-${index}.html`));
  for (const file of ['names.html', ...files.map((_, index) => `names-${index}.html`)]) {
    for (const width of [1440, 800]) {
      const { page, complaints, close } = await open(file, { width });
      const cells = await page.$$eval('#ops tbody tr[data-place] td, #groups tbody tr[data-place] td', (cells) => cells
        .map((cell) => ({ text: cell.textContent, title: cell.title, isCut: cell.scrollWidth > cell.clientWidth, isOp: cell.closest('section').id === 'ops' })));
      const cut = cells.filter(({ text, title, isCut, isOp }) => isCut && (isOp && text.length <= 44 || text.startsWith('≥') || title !== text));
      assert.deepEqual(cut, [], `${file} at ${width} pixels`);
      assert.ok(cells.length > 10, file);
      if (file === 'names.html') assert.ok(cells.some(({ text }) => text === 'MatmulDeviceOperation 3200 x 2048 x 2048'), cells.map(({ text }) => text).join());
      assert.deepEqual(complaints, []);
      if (width === 1440) assert.deepEqual(await wideOf(page), [], file);
      await close();
    }
  }
});
