// The page of an ops CSV. Expected figures are those of the lines that this test writes.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { exported, folder, open, picture, texts } from './browser.js';

const TITLES = 'OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,INPUT_0_MEMORY';
/** Name, device, kernel and gap before in nanoseconds, cores. */
const OPS = [['Tilize', 0, 4000, 0, 64], ['Soft<b>max', 0, 1500, 90000, 8], ['Reduce', 0, 2500, '', 1], ['Tilize', 1, 3000, 0, 64], ['Copy', 1, 250, 700, 2]];
const lines = OPS.map(([name, device, kernel, gap, cores], index) => `${name},tt_dnn_device,${1024 * (index + 1)},${device},{},${index},${kernel},${gap},${cores},DEV_0_L1`);

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
    assert.deepEqual((await texts(page, '#summary dd .figure')).slice(0, 4), ['11.25 µs', '90.70 µs', 'before Soft<b>max (row 3)', 'Tilize (row 2)']);
    assert.equal(await page.textContent('#op-title'), 'Slowest op');
    assert.match(await page.textContent('#summary .verdict'), /Losses are unknown: an ops CSV does not tell/);
    assert.match(await page.textContent('#gaps'), /1 gap not known/);
    assert.match(await page.textContent('#absent'), /Single cores and RISCs.*kprof export FOLDER/s);
    assert.match(await page.textContent('#notes'), /expected 10 cells, found 2 cells/);
  });

  test('a link goes to its op, and a filter leaves the ops that fit', async () => {
    const { page } = report;
    await page.click('#summary a:text("before Soft")');
    assert.equal(await page.textContent('#op h3'), 'Soft<b>max (row 3)');
    await page.fill('#ops input', 'tilize');
    assert.equal(await page.textContent('#ops .section-head .muted'), '2 of 6 ops');
    assert.deepEqual(report.complaints, []);
    await report.close();
  });
});
