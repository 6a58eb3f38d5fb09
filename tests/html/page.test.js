// A page that answers first: what it opens on, the page of an op, losses, links, keys, sums of a
// stretch, comparisons, and the NoC. Expected figures come from the lines that these tests write
// into logs, or from the zones that the page carries, added up here.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { KPROF, exported, factsOf, folder, number, open, picture, settled, texts, view, wideOf } from './browser.js';
import { opLines, writeLog } from './logs.js';

const capture = (...args) => execFileSync(KPROF, ['capture', ...args], { cwd: folder, stdio: 'ignore' });
const hashHas = (page, text) => page.waitForFunction((text) => location.hash.includes(text), text);
const fact = (page, term) => page.textContent(`#op dt:text-is("${term}") + dd`);

/** Two cores, three programs; what each zone takes is told here. */
const OPS = [
  { program: 1, start: 1000, zones: [['load', 100], ['load', 140]], late: 0 },
  { program: 2, start: 5000, zones: [['load', 700], ['math', 900], ['load', 60]], late: 250, tail: 60 },
  { program: 3, start: 9000, zones: [['math', 300]], late: 0 },
];

describe('three ops of a log', () => {
  let report;
  before(async () => {
    writeLog(join(folder, 'three.csv'), opLines(OPS));
    exported('three.csv', 'three.html');
    report = await open('three.html', { width: 1600 });
  });

  test('the page of the slowest op is open, with its zones on all cores', async () => {
    const { page } = report;
    assert.equal(await page.textContent('#op-title'), 'Slowest op');
    assert.equal(await page.textContent('#op h3'), 'program 2');
    await page.waitForSelector('#op .op-zones tbody tr');
    const rows = await page.$$eval('#op .op-zones tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    // Two cores run the same zones: name, RISC, count, own cycles, share of all that BRISC recorded, longest.
    const firmware = 2 * (30 + 700 + 900 + 60 + 20 * 4 + 30) + 60, share = (cycles) => `${(cycles / firmware * 100).toFixed(1)} %`;
    assert.deepEqual(rows, [
      ['math', 'BR', '2', '1,800', share(1800), '900'],
      ['load', 'BR', '4', '1,520', share(1520), '700'],
    ]);
    assert.match(await fact(page, 'Slowest core'), /^2-2 1,800 cycles, /);
    assert.match(await fact(page, 'First to last start'), /^250 cycles/);
  });

  test('the slowest op, why, and what was lost are in sight without scrolling', async () => {
    const { page } = report;
    for (const selector of ['#summary .verdict', '#op h3', '#op .kernels tr', '#op .op-zones', '#cores .board', '#ops tbody tr[data-place]']) {
      const box = await page.locator(selector).first().boundingBox();
      assert.ok(box && box.y >= 0 && box.y + box.height <= 1000, `${selector} at ${JSON.stringify(box)}`);
    }
    assert.equal(await page.evaluate(() => scrollY), 0);
    const { left, right } = await page.$eval('main', (main) => ({ left: main.getBoundingClientRect().left, right: innerWidth - main.getBoundingClientRect().right }));
    assert.ok(left <= 24 && right <= 40, `margins of ${left} and ${right}`);
  });

  test('names of ops and starts of six digits are whole, however wide the window', async () => {
    for (const width of [800, 1440, 1600, 1920]) {
      const sized = await open('three.html', { width });
      const cut = await sized.page.$eval('#ops tbody tr[data-place]', (row) => {
        const [name, start] = [row.children[0].querySelector('button'), row.children[1]];
        name.textContent = 'TilizeWithValPaddingDeviceOperation 1024';
        start.textContent = '185,808';
        return [name, row.children[0], start].map((element) => element.scrollWidth - element.clientWidth);
      });
      assert.ok(cut.every((pixels) => pixels <= 0), `${cut} pixels are cut at ${width}`);
      await sized.close();
    }
  });

  test('no table scrolls sideways at 1440 pixels, and names give way to figures', async () => {
    const narrow = await open('three.html', { width: 1440 });
    await narrow.page.waitForSelector('#op .op-zones tbody tr');
    assert.deepEqual(await wideOf(narrow.page), []);
    assert.deepEqual(narrow.complaints, []);
    await narrow.close();
  });

  test('keys work wherever the focus is, but not where one types', async () => {
    const { page } = report;
    const op = () => page.textContent('#op h3');
    await page.keyboard.press('p');
    assert.equal(await op(), 'program 1');
    assert.equal(await page.textContent('#op-title'), 'Op');
    await page.keyboard.press('p');
    assert.equal(await op(), 'program 1', 'there is none before the first');
    for (const expected of ['program 2', 'program 3', 'program 3']) {
      await page.keyboard.press('n');
      assert.equal(await op(), expected);
    }
    await page.keyboard.press('u');
    assert.equal(await page.getAttribute('#unit-time', 'aria-pressed'), 'true');
    await page.keyboard.press('u');
    const before = await view(page);
    await page.keyboard.press('w');
    await page.waitForFunction((span) => Number(document.querySelector('canvas.scene').dataset.span) < span, before.span);
    await page.keyboard.press('0');
    await page.keyboard.press('/');
    await page.keyboard.type('n3?');
    assert.equal(await page.inputValue('#ops input'), 'n3?');
    assert.equal(await op(), 'program 3');
    await page.fill('#ops input', '');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('?');
    assert.ok((await texts(page, 'dialog[open] kbd')).length > 10);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('dialog[open]'));
    await page.keyboard.press('Escape');
    assert.equal(await op(), 'program 2');
    assert.equal(await page.textContent('#op-title'), 'Slowest op');
  });

  test('the address is a link to the view', async () => {
    const { page } = report;
    await page.click('#ops tbody tr[data-place="0"] button.open');
    await page.keyboard.press('u');
    await hashHas(page, 'unit=time');
    await settled(page);
    const { hash } = new URL(page.url());
    assert.match(hash, /^#op=0&time=-?\d+--?\d+&unit=time$/);
    const other = await open('three.html', { address: hash, width: 1600 });
    await settled(other.page);
    const [here, there] = [await view(page), await view(other.page)];
    assert.ok(Math.abs(here.start - there.start) <= 1 && Math.abs(here.span - there.span) <= 2, JSON.stringify([here, there]));
    assert.equal(await other.page.textContent('#op h3'), 'program 1');
    assert.equal(await other.page.getAttribute('#unit-time', 'aria-pressed'), 'true');
    assert.deepEqual(other.complaints, []);
    await other.close();
    await page.keyboard.press('u');
    await page.keyboard.press('0');
    for (const odd of ['#op=99', '#op=-1', '#time=x-y', '#stretch=5', '#zone=9.9.9', '#op=1&op', '#=&=', '#%E0%A4%A']) {
      const tried = await open('three.html', { address: odd });
      assert.deepEqual(tried.complaints, [], odd);
      await tried.close();
    }
  });

  test('a stretch sums up what ran in it', async () => {
    const { page } = report;
    const facts = await factsOf(page);
    // From the middle of the second op's first zone of each core on to the end of the op.
    const kernel = 5000 + 100 + 30, from = kernel + 20 + 350 - facts.devices[0].first_cycle, to = 8500 - facts.devices[0].first_cycle;
    await page.evaluate(([from, to]) => { location.hash = `#stretch=${from}-${to}`; }, [from, to]);
    await page.waitForSelector('#timeline .detail[data-stretch="whole"]');
    const rows = await page.$$eval('#timeline .detail tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const of = (name) => rows.find((row) => row[0] === name);
    assert.deepEqual(of('math').slice(1, 4), ['BR', '2', '1,800']);
    // The first core's first zone is cut in the middle, the other core's starts 250 cycles later.
    assert.deepEqual(of('load').slice(1, 4), ['BR', '4', (350 + 600 + 2 * 60).toLocaleString('en-US')]);
    assert.equal(await page.textContent('#timeline .detail .big'), `${(to - from).toLocaleString('en-US')} cycles · ${((to - from) / 1000).toFixed(3)} µs`);
    await page.keyboard.press('Escape');
    await page.keyboard.press('0');
    await page.$eval('#timeline', (section) => section.scrollIntoView());
    const box = await page.locator('canvas.scene').boundingBox();
    await page.mouse.move(box.x + 300, box.y + 60);
    await page.keyboard.down('Shift');
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    assert.equal(await page.textContent('#timeline .detail h3'), 'Stretch');
    await hashHas(page, 'stretch=');
    await page.keyboard.press('Escape');
    assert.deepEqual(report.complaints, []);
  });
});

test('a page opens on the ops, with the host laid aside, and counts from the first record', async () => {
  capture('--ops', '6', '-o', 'aside.kprof');
  exported('aside.kprof', 'aside.html');
  const { page, complaints, close } = await open('aside.html');
  await settled(page);
  const facts = await factsOf(page);
  const first = Math.min(...facts.ops.start_ns), last = Math.max(...facts.ops.end_ns);
  assert.ok(facts.span_ns > 5 * (last - first), 'the host takes most of the time');
  const { start, span } = await view(page);
  assert.ok(start <= first && last <= start + span && span < 1.1 * (last - first), JSON.stringify({ start, span, first, last }));
  await page.keyboard.press('9');
  await page.waitForFunction((span) => Number(document.querySelector('canvas.scene').dataset.span) >= span, facts.span_ns);
  await page.keyboard.press('0');
  await page.waitForFunction((span) => Number(document.querySelector('canvas.scene').dataset.span) === span, span);
  // Cycles and time count from one origin: both are those since the chip's first record.
  const column = () => texts(page, '#ops tbody tr[data-place] td:nth-child(2)');
  const cycles = (await column()).map(number);
  await page.click('#unit-time');
  const times = await column();
  const { frequency_ghz: ghz } = facts.devices[0].clock;
  const ns = { ns: 1, µs: 1e3, ms: 1e6 };
  times.forEach((text, op) => {
    const [value, unit] = text.split(' ');
    assert.ok(Math.abs(Number(value) * ns[unit] - cycles[op] / ghz) <= 0.006 * ns[unit] + 2, `${text} is not ${cycles[op]} cycles`);
  });
  assert.equal(cycles[0], facts.ops.start_cycles[0]);
  assert.deepEqual(complaints, []);
  await close();
});

test('lost launches are marked in the gaps and the timeline, and losses are grouped as in the terminal', async () => {
  capture('--workload', 'multi-op-overflow', '--op-support-count', '50', '-o', 'over.kprof');
  exported('over.kprof', 'over.html');
  const { page, complaints, close } = await open('over.html', { width: 1600 });
  const facts = await factsOf(page);
  const lost = facts.ops.latency_doubt.map((doubt) => doubt === 'launches before the op may be missing');
  const first = lost.indexOf(true);
  assert.ok(first > 0);
  assert.equal(await page.textContent(`#ops tbody tr[data-place="${first}"] td:nth-child(5)`), 'lost?');
  assert.ok((await page.textContent('#summary .verdict')).includes(`${lost.filter(Boolean).length} ops without a time since the previous op: launches before the op may be missing`));
  assert.equal((await texts(page, '#gaps td.bad'))[0], facts.ops.latency_doubt.find((doubt) => doubt !== null));
  // Red where the launches are missing, above lanes that have none there.
  await page.evaluate((hash) => { location.hash = hash; }, `#time=${facts.ops.end_ns[first - 1]}-${facts.ops.start_ns[first]}`);
  await settled(page);
  const reds = await page.$eval('canvas.scene', (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(200, 24 + 22 + 20, 600, 70);
    let reds = 0;
    for (let i = 0; i < data.length; i += 4) reds += data[i] > 150 && data[i + 1] < 90 && data[i + 2] < 90;
    return reds;
  });
  assert.ok(reds > 500, `${reds} red pixels`);
  const terminal = execFileSync(KPROF, ['report', 'over.kprof', '--rows', '0'], { cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
  const rows = await page.$$eval('.loss-groups tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.ok(rows.length > 1);
  for (const row of rows) {
    const [cause, chip, risc, programs, cores, runs] = row;
    const line = terminal.split('\n').find((line) => line.includes(cause) && line.includes(` ${risc} `));
    assert.ok(line, `${cause} ${risc} is not in the terminal`);
    for (const cell of [chip, programs, cores, runs, row.at(-1)]) assert.ok(line.includes(cell), `${cell} is missing in ${line}`);
  }
  await picture(page, 'lost-launches.png');
  assert.deepEqual(complaints, []);
  await close();
});

test('what is not known is called so, and never shown as 0', async () => {
  const figureOf = (page, term) => page.locator(`#summary dt:text-is("${term}") + dd .figure`);
  // Losses are unknown in a log of another runtime, and one op has nothing in front of it.
  writeLog(join(folder, 'one.csv'), opLines(OPS.slice(0, 1)));
  exported('one.csv', 'one.html');
  const one = await open('one.html');
  assert.equal(await one.page.locator('#summary .verdict.unknown').count(), 1);
  assert.equal(await figureOf(one.page, 'Kernels ran').count(), 1);
  assert.equal(await figureOf(one.page, 'Between ops').count(), 0);
  assert.deepEqual(one.complaints, []);
  await one.close();
  // Launches may be missing in front of each op but the first.
  capture('--workload', 'pipeline', '--pipeline', 'tiles=16', '--ops', '60', '--op-support-count', '43', '-o', 'gaps.kprof');
  exported('gaps.kprof', 'gaps.html');
  const { page, complaints, close } = await open('gaps.html');
  const { op_to_op_latency_cycles: gaps, latency_doubt: doubts } = (await factsOf(page)).ops;
  assert.ok(gaps.every((gap) => gap === null) && doubts.some((doubt) => doubt !== null));
  assert.equal(await figureOf(page, 'Between ops').textContent(), 'unknown');
  assert.equal(await page.locator('#summary .verdict.doubtful').count(), 1);
  // An op's page says once why the time in front of it is not known.
  const op = doubts.findIndex((doubt) => doubt !== null);
  await page.evaluate((op) => { location.hash = `#op=${op}`; }, op);
  await page.waitForFunction((label) => document.querySelector('#op h3').textContent === label, (await texts(page, '#ops tbody tr[data-place] td:first-child'))[op]);
  assert.equal((await page.textContent('#op')).split('launches before the op may be missing').length, 2);
  assert.deepEqual(complaints, []);
  await close();
});

test('the legend of the grid ends at values that cores have', async () => {
  const { page, complaints, close } = await open('over.html');
  const facts = await factsOf(page);
  for (const [metric, values] of [['kernel', facts.cores[0].kernel_cycles], ['risc-0', facts.cores[0].risc_cycles.map((riscs) => riscs[0])]]) {
    await page.selectOption('#cores select', metric);
    const ends = await texts(page, '#cores .legend > span:not(.ramp)');
    assert.deepEqual(ends, [Math.min(...values), Math.max(...values)].map((value) => `${value.toLocaleString('en-US')} cycles`), metric);
    // The ramp's ends have the colours of those cores.
    const colours = await page.$$eval('#cores .ramp i', (steps) => [steps[0], steps.at(-1)].map((step) => step.style.backgroundColor));
    const ofCells = await page.$$eval('#cores .cell', (cells) => cells.map((cell) => [cell.getAttribute('aria-label').split(': ')[1], cell.style.backgroundColor]));
    assert.deepEqual(colours, ends.map((end) => ofCells.find(([text]) => text === end)[1]), metric);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('two recordings in one page are compared as kprof diff does', async () => {
  writeLog(join(folder, 'a.csv'), repeated(OPS, 12, 1));
  writeLog(join(folder, 'b.csv'), repeated(OPS, 12, 2));
  exported('a.csv', 'compared.html', '--compare', 'b.csv');
  const { page, complaints, close } = await open('compared.html');
  assert.equal(await page.textContent('#comparison-title'), 'Comparison with b.csv');
  const diff = JSON.parse(execFileSync(KPROF, ['diff', 'a.csv', 'b.csv', '--json'], { cwd: folder, encoding: 'utf8' }));
  const rows = await page.$$eval('#comparison tbody tr[data-place]', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const shown = rows.map((row) => `${row[0]} ${row[1]} ${row[5]}`).sort();
  assert.deepEqual(shown, diff.changes.map((change) => `${change.kind} ${change.name} ${change.ratio.toFixed(3)} ×`).sort());
  const math = rows.find((row) => row[1] === 'math');
  assert.ok(math && Number(math[5].split(' ')[0]) > 1.5, JSON.stringify(rows));
  assert.equal(math.at(-1), 'slower');
  assert.equal(await page.locator('#bar a[href="#comparison"]').count(), 1);
  assert.deepEqual(complaints, []);
  await close();
  assert.throws(() => execFileSync(KPROF, ['export', 'a.csv', '-o', 'a.pftrace', '--compare', 'b.csv'], { cwd: folder, stdio: 'pipe' }), /--format html/);
});

/** Rows of the table of lines beside a log; columns that a row does not have are 0 or empty. */
function writeLines(path, rows) {
  const [{ columns }] = JSON.parse(execFileSync(KPROF, ['schema', 'lines', '--json'], { encoding: 'utf8' }));
  const cell = (row, { name, null_means: nullMeans }) => {
    if (name === 'issue_cycles' || name === 'total_cycles') return row.cycles;
    // Rows with cycles have all of them; only rows with samples have none.
    const isOfCycles = name.endsWith('_cycles') || name === 'instructions';
    const value = row[name] ?? (nullMeans && !isOfCycles ? '' : 0);
    return typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const lines = rows.map((row) => columns.map((column) => cell(row, column)).join(','));
  writeFileSync(path, [columns.map(({ name }) => name).join(','), ...lines, ''].join('\n'));
}

test('an op has the source lines of its program, the hottest most coloured', async () => {
  const home = join(folder, 'source');
  mkdirSync(home);
  writeLog(join(home, 'log.csv'), opLines(OPS));
  const code = { risc: 'BRISC', code: 'kernel', run_host_id: 2 << 10, file: '/src/reader.cpp', function: 'main()' };
  writeLines(join(home, 'kprof_lines.csv'), [
    { ...code, address: 8, line: 30, cycles: 100, source_text: '    load("</script><b>");', waits_for: 'CB_WAIT 3' },
    { ...code, address: 4, line: 7, cycles: 600, source_text: '    x /= y;' },
    { ...code, address: 12, line: 7, cycles: 50, source_text: '    x /= y;' },
    { ...code, address: 16, risc: 'NCRISC', cycles: 150, file: undefined, line: undefined, function: 'copy' },
    { ...code, address: 20, code: 'firmware', cycles: 100, file: undefined, function: 'boot' },
    { ...code, address: 24, run_host_id: 3 << 10, line: 7, cycles: 11, source_text: '    x /= y;' },
  ]);
  exported('source/log.csv', 'source.html');
  const { page, complaints, close } = await open('source.html', { width: 1600 });
  assert.equal(await page.textContent('#source h2'), 'Source of program 2');
  assert.equal(await page.textContent('#source > div:last-child > p'), '1,000 cycles of all RISCs; shares are of these.');
  assert.equal(await fact(page, 'Most cycles at'), 'reader.cpp:7 (BRISC), 65.0 %');
  assert.deepEqual(await texts(page, '#source h3'), ['reader.cpp, BRISC: 750 cycles, 75.0 %', 'No known line, NCRISC: 150 cycles, 15.0 %']);
  const rows = await page.$$eval('#source tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.deepEqual(rows, [
    ['650', '65.0 %', '7', '    x /= y;', 'issue 100.0 %', ''],
    ['100', '10.0 %', '30', '    load("</script><b>");', 'waits for CB_WAIT 3', ''],
    ['150', '15.0 %', '', 'copy', 'issue 100.0 %', ''],
  ]);
  assert.deepEqual(await page.$$eval('#source tbody tr', (rows) => rows.map((row) => row.classList.contains('gap'))), [false, true, false]);
  // The share of red in a colour goes with the cycles.
  const heat = await page.$$eval('#source .heat', (cells) => cells.map((cell) => Number(cell.style.backgroundColor.match(/(\d+)%/)[1])));
  assert.deepEqual(heat, [60, Math.round(60 * 100 / 650), Math.round(60 * 150 / 650)]);
  assert.deepEqual(await texts(page, '#source p.muted'), ['Firmware: 100 cycles, 10.0 %; its lines are not shown.']);
  await page.keyboard.press('n');
  assert.equal(await page.textContent('#source h2'), 'Source of program 3');
  assert.deepEqual(await texts(page, '#source tbody td:first-child'), ['11']);
  await page.keyboard.press('f');
  await page.keyboard.press('p');
  assert.equal(await page.textContent('#source > div:last-child'), 'The table of lines has none of this op.');
  assert.deepEqual(await wideOf(page), []);
  assert.deepEqual(complaints, []);
  await picture(page, 'source.png');
  await close();
  // Without a table there is no such section.
  const bare = await open('three.html');
  assert.equal(await bare.page.isVisible('#source'), false);
  assert.equal(await bare.page.locator('#bar a[href="#source"]').count(), 0);
  await bare.close();
});

/** The ops over and over, each a little longer than the one before; `factor` stretches `math`. */
function repeated(ops, times, factor) {
  const all = Array.from({ length: times }, (_, repetition) => ops.map((op) => ({
    ...op, program: op.program + 3 * repetition, start: op.start + 40_000 * repetition,
    zones: op.zones.map(([name, cycles]) => [name, cycles * (name === 'math' ? factor : 1) + repetition % 4]),
  })));
  return opLines(all.flat());
}

test('the NoC shows who talks to whom, by core, and which links are full', async () => {
  const logs = resolve(import.meta.dirname, '../captures/mesham-tt-sim/blackhole-noc-4096');
  copyFileSync(join(logs, 'profile_log_device.csv'), join(folder, 'noc.csv'));
  exported('noc.csv', 'noc.html');
  const { page, complaints, close } = await open('noc.html');
  const cells = (label) => page.$$eval(`[aria-label="${label}"] tbody tr[data-place]`, (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  // The log's kernel reads eight times 4 KiB over NoC 1 and writes them over NoC 0.
  assert.deepEqual((await cells('Pairs of tiles')).map((row) => row.slice(0, 5)).sort(), [['NOC_0', '1-2', '0-11', '8', '32,768'], ['NOC_1', '0-1', '1-2', '8', '32,768']]);
  const cores = await cells('NoC by core');
  assert.deepEqual(cores.filter((row) => row[3] !== '0').map((row) => row.slice(0, 6)).sort(), [['1-2', 'BRISC', 'NOC_0', '8', '', '32,768'], ['1-2', 'NCRISC', 'NOC_1', '8', '32,768', '']]);
  const boards = await page.$$eval('.links', (boards) => boards.map((board) => [...board.querySelectorAll('td[aria-label]')].map((cell) => [cell.getAttribute('aria-label'), cell.textContent])));
  // NoC 0 runs east, then south: from 1-2 around the edge to column 0, then down to row 11.
  assert.ok(boards[0].some(([label, text]) => label === '1-2: east 32,768 bytes' && text === '→'), JSON.stringify(boards[0]));
  assert.ok(boards[0].some(([label, text]) => label === '0-10: south 32,768 bytes' && text === '↓'));
  assert.ok(boards[1].every(([, text]) => text === '←' || text === '↑'));
  await page.selectOption('#cores select', 'read');
  assert.deepEqual(await page.$$eval('#cores .cell', (cells) => cells.map((cell) => cell.getAttribute('aria-label'))), ['1-2: 32 KiB']);
  assert.deepEqual(complaints, []);
  await close();
});

/** A log of one core in which the compute kernel waits 1,200 of 2,000 cycles for a buffer. */
const WAITING = `ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,NCRISC,7,1000,0,1024,NCRISC-KERNEL,ZONE_START
0,1,2,NCRISC,31,2400,0,1024,SYNC-CB-PUSH,TS_DATA
0,1,2,NCRISC,7,2500,0,1024,NCRISC-KERNEL,ZONE_END
0,1,2,TRISC_0,9,1000,0,1024,TRISC-KERNEL,ZONE_START
0,1,2,TRISC_0,32,1230,0,1024,SYNC-CB-WAIT,ZONE_START
0,1,2,TRISC_0,33,1240,0,1024,SYNC-CB-WAIT-KEY,TS_DATA
0,1,2,TRISC_0,32,2430,0,1024,SYNC-CB-WAIT,ZONE_END
0,1,2,TRISC_0,9,3000,0,1024,TRISC-KERNEL,ZONE_END
`;

test('the first screen says why it is slow, as kprof explain does, and splits waits from work', async () => {
  writeFileSync(join(folder, 'waiting.csv'), WAITING);
  exported('waiting.csv', 'waiting.html');
  const { page, complaints, close } = await open('waiting.html', { width: 1600 });
  const explained = JSON.parse(execFileSync(KPROF, ['explain', 'waiting.csv', '--json'], { cwd: folder, encoding: 'utf8' }));
  const sentences = await texts(page, '.findings li strong');
  assert.deepEqual(sentences, explained.findings.slice(0, 3).map((finding) => finding.sentence));
  const rows = await page.$$eval('#op .kernels tr', (rows) => rows.map((row) => [row.firstChild.textContent, row.lastChild.textContent, row.querySelectorAll('.track i')[1]?.style.width]));
  const trisc = rows.find(([risc]) => risc === 'TRISC_0');
  assert.equal(trisc[1], '60.0 % waits: CB_WAIT 0', '1,200 of 2,000 cycles');
  assert.equal(trisc[2], '60%');
  const shares = (await page.getAttribute('.device-classes .classes', 'aria-label')).split(', ').map((part) => Number(part.match(/([\d.]+) %$/)[1]));
  assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.05, shares.join());
  assert.deepEqual(complaints, []);
  await close();
});

test('the time of every chip is shown, of more than four on demand', async () => {
  const chips = Array.from({ length: 32 }, (_, chip) => chip);
  const lines = chips.map((chip) => `${chip},1,2,BRISC,9,1000,0,${1024 + chip},BRISC-KERNEL,ZONE_START\n${chip},1,2,BRISC,9,${2000 + chip},0,${1024 + chip},BRISC-KERNEL,ZONE_END\n`);
  const head = WAITING.split('\n').slice(0, 2).join('\n');
  writeFileSync(join(folder, 'chips.csv'), `${head}\n${lines.join('')}`);
  exported('chips.csv', 'chips.html');
  const { page, complaints, close } = await open('chips.html');
  assert.deepEqual(await texts(page, '.device-classes summary'), ['28 more chips']);
  const labels = async () => (await texts(page, '.device-classes > div > .muted, .device-classes details[open] > div > .muted')).map((text) => text.trim());
  assert.deepEqual(await labels(), chips.slice(0, 4).map((chip) => `device ${chip}`));
  await page.click('.device-classes summary');
  assert.deepEqual(await labels(), chips.map((chip) => `device ${chip}`));
  assert.deepEqual(await wideOf(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test('what a finding names is a link to it, and a hostile name stays text', async () => {
  const names = Array.from({ length: 4 }, (_, i) => `</script><img src=x onerror=document.title=${i}>`);
  const ops = Array.from({ length: 8 }, (_, i) => ({ program: i + 1, start: 1000 + 100_000 * i, zones: [[names[0], 900]], late: 0, tail: i === 5 ? 9000 : 4000 }));
  writeLog(join(folder, 'late.csv'), opLines(ops));
  exported('late.csv', 'late.html');
  const { page, complaints, close } = await open('late.html', { width: 1600 });
  const explained = JSON.parse(execFileSync(KPROF, ['explain', 'late.csv', '--json'], { cwd: folder, encoding: 'utf8' }));
  assert.ok(explained.findings.length > 0, 'eight ops far apart, on two cores of which one is late, have a cause');
  const [finding] = explained.findings;
  assert.equal((await texts(page, '.findings li strong'))[0], finding.sentence);
  for (const link of await page.$$('.findings li a, .findings li button')) await link.click();
  if (finding.place.run_host_id !== null) {
    await page.click('.findings li >> nth=0 >> a');
    assert.match(await page.textContent('#op h3'), new RegExp(`^program ${finding.place.run_host_id >> 10}$`));
  }
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

describe('a log of RISCs that waited for the host', () => {
  test('how often and how long they stood still is said below the losses', async () => {
    const zones = [['load', 100], ['PROFILER-DRAM-STALL', 40], ['PROFILER-DRAM-STALL', 25]];
    writeLog(join(folder, 'stalls.csv'), opLines([{ program: 1, start: 1000, zones, late: 0 }]));
    exported('stalls.csv', 'stalls.html');
    const { page, complaints, close } = await open('stalls.html');
    const lines = await texts(page, '#losses p');
    // Two cores record the same zones.
    const expected = 'RISCs stood still until the host had read: 4 times, 130 cycles in all, 40 at most.';
    assert.ok(lines.includes(expected), JSON.stringify(lines));
    assert.ok(!lines.some((line) => line.startsWith('Pushes')), 'there were none');
    assert.deepEqual(complaints, []);
    await close();
  });
});
