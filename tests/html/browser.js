// Chromium, the program under test, and what tests ask of a page.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export const KPROF = resolve(process.env.KPROF ?? 'kprof');
/** Where files of the tests lie until all have run. */
export const folder = mkdtempSync(join(tmpdir(), 'kprof-report-'));
const kprof = (...args) => JSON.parse(execFileSync(KPROF, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).split('\n')[0] || 'null');
/** Exports a file as a page and gives what the program says of it. */
export const exported = (file, page, ...args) => kprof('export', file, '-o', page, '--json', ...args);

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Opens a page and fails on whatever its console, its scripts or its requests complain of. */
export async function open(name, { dark = false, width = 1400, address = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme: dark ? 'dark' : 'light' });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => { if (!/^(file|blob):/.test(request.url())) complaints.push(`requests ${request.url()}`); });
  await page.goto(pathToFileURL(join(folder, name)).href + address);
  await page.waitForSelector('html[data-ready]');
  return { page, complaints, close: () => context.close() };
}

/** Waits until the timeline shows what was asked for. It is drawn in the next frame, and says so only then. */
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => document.querySelector('canvas.scene').dataset.isWhole === 'true');
}
export const view = (page) => page.$eval('canvas.scene', (canvas) => ({ start: Number(canvas.dataset.start), span: Number(canvas.dataset.span) }));
export const factsOf = (page) => page.$eval('#facts', (element) => JSON.parse(element.textContent));
export const texts = (page, selector) => page.$$eval(selector, (elements) => elements.map((element) => element.textContent));
export const number = (text) => Number(text.replaceAll(',', ''));
/** What is wider than its place, so that one has to scroll sideways. */
export const wideOf = (page) => page.evaluate(() => [...document.querySelectorAll('html, .scroller')]
  .filter((element) => element.scrollWidth > element.clientWidth && element.clientWidth > 0)
  .map((element) => `${element.tagName} ${element.ariaLabel ?? ''}: ${element.scrollWidth} in ${element.clientWidth}`));
export async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, name), fullPage: true });
}
/** Colours on the canvas below the ruler and right of the labels. */
export const coloursOfCanvas = (page) => page.$eval('canvas.scene', (canvas) => {
  const { data } = canvas.getContext('2d').getImageData(140, 40, canvas.width - 160, canvas.height - 60);
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3]) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return colours.size;
});
