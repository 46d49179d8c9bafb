// Unpacks what pages/kit/draw/packing.py packed: uint32 header length, JSON header, values.

export function unpack(bytes) {
  // a copy only when the values would not begin at a multiple of 4
  const own = bytes.byteOffset % 4 ? bytes.slice() : bytes;
  const length = new DataView(own.buffer, own.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(own.subarray(4, 4 + length)));
  return { header, body: own.subarray(4 + length) };
}

/** All maps of one picture. `map(layer, head)` -> {size, bytes}: the whole map where it was sent, its thumbnail otherwise. */
export function unpackMaps(packed) {
  const { header, body } = unpack(packed);
  const n = header.tokens.length;
  const { layers, heads, whole, thumbnail } = header;
  const small = whole.length * heads * n * n;
  return {
    ...header,
    n,
    isWhole: (layer) => whole.includes(layer),
    map(layer, head) {
      const place = whole.indexOf(layer);
      if (place >= 0) {
        const start = (place * heads + head) * n * n;
        return { size: n, bytes: body.subarray(start, start + n * n) };
      }
      const start = small + (layer * heads + head) * thumbnail * thumbnail;
      return { size: thumbnail, bytes: body.subarray(start, start + thumbnail * thumbnail) };
    },
  };
}

/** The state of the view and its one or two float32 maps. */
export function unpackFocus(packed) {
  const { header, body } = unpack(packed);
  const floats = new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4);
  const pinned = header.pin ? header.pin.tokens.length ** 2 : 0;
  return {
    ...header,
    weights: floats.subarray(0, floats.length - pinned),
    pinWeights: floats.subarray(floats.length - pinned),
    pinBytes: Uint8Array.from(floats.subarray(floats.length - pinned), (weight) => Math.round(255 * weight)),
  };
}

/** The largest of each block of cells, so that a map of `size` fits into `room` pixels: {size, bytes}. */
export function pooled({ size, bytes }, room) {
  const step = Math.ceil(size / Math.max(1, room));
  if (step <= 1) return { size, bytes };
  const small = Math.ceil(size / step);
  const result = new Uint8Array(small * small);
  for (let i = 0; i < size; i++) {
    const to = Math.floor(i / step) * small;
    const from = i * size;
    for (let j = 0; j < size; j++) {
      const at = to + ((j / step) | 0);
      const value = bytes[from + j];
      if (value > result[at]) result[at] = value;
    }
  }
  return { size: small, bytes: result };
}

/** The map without its first and last `cut` rows and columns: {size, bytes}. */
export function trimmed({ size, bytes }, first, last) {
  if (!first && !last) return { size, bytes };
  const small = size - first - last;
  const result = new Uint8Array(small * small);
  for (let i = 0; i < small; i++) {
    const from = (i + first) * size + first;
    result.set(bytes.subarray(from, from + small), i * small);
  }
  return { size: small, bytes: result };
}
