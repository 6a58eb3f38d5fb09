// Recordings for tests of what every output shows: those of the repository, logs of others' shapes, and generated ones.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { KPROF, folder } from './browser.js';
import { opLines, writeLog } from './logs.js';

export const RISCS = ['BRISC', 'NCRISC', 'TRISC_0', 'TRISC_1', 'TRISC_2'];

/** Numbers between 0 and 1 that follow from a seed. */
export function* random(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Device logs and captures of the repository. */
export function recordingsOfRepository() {
  const home = resolve(import.meta.dirname, '../captures');
  const isRecording = (path) => path.endsWith('.kprof') || path.endsWith('profile_log_device.csv') || /f9_.*\.csv$/.test(path);
  const found = readdirSync(home, { recursive: true }).filter(isRecording).sort();
  assert.ok(found.length > 10, found.join());
  return found.map((path) => join(home, path));
}

/** Writes a log of one lane for each entry: [x, y, RISC, program, records], each record [name, time, S or E]. */
function writeLanes(name, lanes) {
  const ids = new Map();
  const idOf = (zone) => ids.get(zone) ?? ids.set(zone, 20 + ids.size).get(zone);
  writeLog(join(folder, name), lanes.flatMap(([x, y, risc, program, records]) => records.map(([zone, time, type]) =>
    [x, y, risc, idOf(zone), time, program, zone, type === 'S' ? 'START' : 'END', idOf(zone), '/k/zones.cpp'])));
}

/** Logs in which something is unknown, each as it was met in the field. */
export function writeUnknown() {
  // The end of a zone was lost.
  writeLanes('open.csv', [[1, 1, 'BRISC', 1, [['BRISC-FW', 1000, 'S'], ['BRISC-KERNEL', 1010, 'S'], ['LOAD', 1020, 'S'], ['LOAD', 1030, 'E'], ['LOAD', 1040, 'S'], ['BRISC-KERNEL', 9000, 'E'], ['BRISC-FW', 9010, 'E']]]]);
  // A kernel hangs in a zone.
  writeLanes('hang.csv', [[1, 2, 'BRISC', 1, [['BRISC-FW', 1000, 'S'], ['BRISC-KERNEL', 1010, 'S'], ['BEFORE', 1020, 'S'], ['BEFORE', 1038, 'E'], ['STUCK', 1050, 'S']]]]);
  // Neither firmware nor kernels have zones.
  writeLanes('bare.csv', [[1, 2, 'TRISC_0', 1, [['K5A', 1005, 'S'], ['K5A', 3005, 'E']]], [3, 4, 'TRISC_0', 2, [['SDPA', 5005, 'S'], ['SDPA', 9005, 'E']]]]);
  // Only the firmware has zones, as of a kernel that was built without the profiler.
  writeLanes('unprofiled.csv', [[1, 2, 'BRISC', 1, [['BRISC-FW', 1000, 'S'], ['BRISC-FW', 1500, 'E']]], [1, 2, 'BRISC', 2, [['BRISC-FW', 3000, 'S'], ['BRISC-FW', 3500, 'E']]]]);
  // Two ops of twelve whole, and the file ends within the third.
  const whole = opLines([1, 2, 3].map((program) => ({ program, start: 4000 * program, zones: [['load', 400], ['math', 200]], late: 10 })));
  writeLog(join(folder, 'cut.csv'), whole.filter(([x, , , , time]) => x === 1 ? time < 12_400 : time < 8_700));
  return ['open.csv', 'hang.csv', 'bare.csv', 'unprofiled.csv', 'cut.csv'];
}

/** Captures of the simulator that lose records, or whose kernels do not end. */
export function capture() {
  const workloads = [['full.kprof', '--workload', 'full-buffer', '--ops', '3', '--grid', '2x1'], ['broken.kprof', '--workload', 'broken-kernels'], ['random.kprof', '--workload', 'random', '--ops', '6'],
    ['drop.kprof', '--workload', 'long-kernel', '--stream=drop', '--grid', '2x1'], ['overflow.kprof', '--workload', 'multi-op-overflow', '--op-support-count', '50']];
  for (const [name, ...args] of workloads) {
    try {
      execFileSync(KPROF, ['capture', ...args, '-o', name], { cwd: folder, stdio: 'ignore' });
    } catch (error) {
      assert.equal(error.status, 2, `${name}: ${error}`);
    }
  }
  return workloads.map(([name]) => name);
}

/**
 * A log of a few ops on some cores and RISCs: zones within zones, some without an end, kernels without an end or without
 * zones, firmware that is not there, and a file that may end anywhere.
 */
export function writeGenerated(name, seed) {
  const numbers = random(seed), next = () => numbers.next().value, upTo = (most) => Math.floor(next() * most);
  const hasFirmware = next() < 0.8, hasKernels = next() < 0.8, lossy = next() < 0.6 ? 0.12 : 0;
  const cores = 1 + upTo(3), riscs = 1 + upTo(RISCS.length), programs = next() < 0.5 ? 1 : 1 + upTo(4);
  const lanes = [];
  for (let program = 1; program <= programs; program++) {
    for (let core = 0; core < cores; core++) {
      for (const risc of RISCS.slice(0, riscs)) {
        const short = risc.split('_')[0], records = [];
        let time = 100_000 * program + upTo(500);
        const inside = (zone, has, fill) => {
          if (has) records.push([zone, time += 1 + upTo(40), 'S']);
          fill();
          if (has && next() >= lossy) records.push([zone, time += 1 + upTo(40), 'E']);
        };
        const nest = (depth) => {
          for (let left = upTo(4); left > 0; left--) {
            inside(`zone-${upTo(5)}`, true, () => {
              time += upTo(600);
              if (depth < 3 && next() < 0.4) nest(depth + 1);
            });
          }
        };
        inside(`${short}-FW`, hasFirmware, () => inside(`${short}-KERNEL`, hasKernels && next() > 0.05, () => nest(0)));
        if (records.length) lanes.push([1 + core, 2, risc, program, records]);
      }
    }
  }
  if (!lanes.length) lanes.push([1, 2, 'BRISC', 1, [['zone-0', 1000, 'S'], ['zone-0', 1100, 'E']]]);
  writeLanes(name, lanes.slice(0, next() < 0.2 ? 1 + upTo(lanes.length) : lanes.length));
  return name;
}

/** Copies nothing of a machine: an ops CSV of a few rows, of which some lack figures. */
export function writeOpsCsv() {
  const titles = 'OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT';
  const rows = [['Tilize', 4000, 0], ['Softmax', '', 900], ['Reduce', 2500, '']].map(([name, kernel, gap], index) => `${name},tt_dnn_device,${1024 * (index + 1)},0,{},${index},${kernel},${gap},64`);
  writeFileSync(join(folder, 'lacking_ops.csv'), [titles, ...rows, ''].join('\n'));
  return 'lacking_ops.csv';
}
