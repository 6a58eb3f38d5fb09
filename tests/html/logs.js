// Device logs of upstream's form, made up for these tests.

import { closeSync, openSync, writeSync } from 'node:fs';

const HEAD = `ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
`;

/** A log of these lines: x, y, RISC, id, time, program, name, type, line, file. */
export function writeLog(path, lines) {
  const file = openSync(path, 'w');
  writeSync(file, HEAD);
  let batch = [];
  const flush = () => { writeSync(file, batch.join('')); batch = []; };
  for (const [x, y, risc, id, time, program, name, type, line, source] of lines) {
    batch.push(`0,${x},${y},${risc},${id},${time},0,${program << 10},,,${name},ZONE_${type},${line},${source},\n`);
    if (batch.length === 20000) flush();
  }
  flush();
  closeSync(file);
}

const RISCS = ['BRISC', 'NCRISC', 'TRISC_0', 'TRISC_1', 'TRISC_2'];
const KINDS = ['cb-wait', 'noc-read', 'math', 'pack', 'noc-write'];

/** 64 cores, 5 RISCs, 23 launches, 127 zones each: 934,720 zones in 1,869,440 lines. */
export function* millionZoneLines() {
  for (let core = 0; core < 64; core++) {
    const x = (core >> 3) + 1, y = (core & 7) + 1;
    for (const [r, risc] of RISCS.entries()) {
      const id = (zone) => 100 + r * 10 + zone;
      const kernel = risc.split('_')[0];
      const file = `/proj/kernels/${kernel.toLowerCase()}.cpp`;
      let time = 11_231_607_914_496 + x * 7;
      for (let launch = 1; launch <= 23; launch++) {
        const line = (pause, zone, name, type) => {
          time += pause;
          return [x, y, risc, id(zone), time, launch, name, type, zone + 1, file];
        };
        yield line(900, 0, `${kernel}-FW`, 'START');
        yield line(60, 1, `${kernel}-KERNEL`, 'START');
        for (let zone = 0; zone < 125; zone++) {
          yield line(30, 2 + zone % 5, KINDS[zone % 5], 'START');
          yield line(40 + (zone * (1 + core % 3)) % 17, 2 + zone % 5, KINDS[zone % 5], 'END');
        }
        yield line(25, 1, `${kernel}-KERNEL`, 'END');
        yield line(35, 0, `${kernel}-FW`, 'END');
      }
    }
  }
}

/** Two kernels that call their zones as nobody should. */
export function hostileLines(names) {
  const lines = [];
  let time = 1000;
  const push = (id, program, name, type) => { time += 50; lines.push([1, 2, 'BRISC', id, time, program, name, type, 3, `/k/${name}`]); };
  for (const program of [1, 2]) {
    push(7, program, 'BRISC-KERNEL', 'START');
    names.forEach((name, i) => { push(20 + i, program, name, 'START'); push(20 + i, program, name, 'END'); });
    push(7, program, 'BRISC-KERNEL', 'END');
  }
  return lines;
}

/**
 * Ops on BRISC of two cores; the second core begins `late` cycles after the first and runs `tail`
 * cycles more. A kernel begins 30 cycles after its firmware, a zone 20 cycles after the one before.
 */
export function opLines(ops) {
  const lines = [];
  for (const [x, y] of [[1, 2], [2, 2]]) {
    for (const { program, start, zones, late, tail = 0 } of ops) {
      let time = start + 100 + (x === 2 ? late : 0);
      const push = (id, name, type) => lines.push([x, y, 'BRISC', id, time, program, name, type, id, '/k/brisc.cpp']);
      push(7, 'BRISC-FW', 'START');
      time += 30;
      push(8, 'BRISC-KERNEL', 'START');
      for (const [name, cycles] of zones) {
        const id = name === 'load' ? 20 : 21;
        time += 20;
        push(id, name, 'START');
        time += cycles;
        push(id, name, 'END');
      }
      time += 20 + (x === 2 ? tail : 0);
      push(8, 'BRISC-KERNEL', 'END');
      time += 30;
      push(7, 'BRISC-FW', 'END');
    }
  }
  return lines;
}
