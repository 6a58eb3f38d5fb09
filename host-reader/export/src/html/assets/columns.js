// Packed columns: base64, deflated, numbers in as few bytes as they need.

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const pageIsWhole = new Promise((resolve) => {
  if (document.readyState !== 'loading') resolve();
  else document.addEventListener('DOMContentLoaded', resolve);
});

/** The block of the page with this id, which may still be on its way. */
async function columnsOf(id) {
  let block = document.getElementById(id);
  if (!block || !block.nextSibling) {
    await pageIsWhole;
    block = document.getElementById(id);
  }
  const columns = new Columns(await inflated(bytesOfBase64(block.textContent)));
  return columns;
}

/** Reads what `PackedColumns` of the report's writer holds, in the same order. */
class Columns {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let number = byte & 127, scale = 128;
    do {
      byte = bytes[this.at++];
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return number;
  }
  signed() {
    const number = this.number();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }
  /** Every bit of 64. */
  exact() {
    const upper = this.number();
    return (BigInt(upper) << 32n) | BigInt(this.number());
  }
  fill(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.number();
    return array;
  }
  rising(array) {
    for (let i = 0, latest = 0; i < array.length; i++) array[i] = latest += this.number();
    return array;
  }
  text() {
    const length = this.number();
    this.at += length;
    return new TextDecoder().decode(this.bytes.subarray(this.at - length, this.at));
  }
}
