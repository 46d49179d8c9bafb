// The maps of a film: unpacking, the map of one step, and its caption.

import { BigMap } from "../picture/map.js";
import { toBytes, unpack } from "../wire/packets.js";
import { argmax, BLOCKED, quoted } from "../base/words.js";

/** Parse "1.0.m.t" into probe, layer, head (null = mean of the heads) and table; see pages/train/film.py. */
export function parseChoice(text) {
  const match = /^(\d{1,3})\.(\d{1,3})\.(m|\d{1,4})(\.t)?$/.exec(text);
  const [, probe, layer, own, table] = match ?? ["", "0", "0", "m"];
  const head = own === "m" ? null : Number(own);
  return { probe: Number(probe), layer: Number(layer), head, table: Boolean(table) };
}

export const writeChoice = ({ probe, layer, head, table }) => `${probe}.${layer}.${head ?? "m"}${table ? ".t" : ""}`;

/** @typedef {{probe: number, layer: number, head: number | null, table: boolean}} Choice */
/** @typedef {{films: Film[], steps: number[][], probes: string[], total: number, notes: string[]}} Films */

/**
 * The films of a message; `steps`: every step of any film, per probe.
 * @returns {Films}
 */
export function unpackFilms(packed) {
  /** @type {{header: import("../base/messages.js").FilmsHeader, body: Uint8Array}} */
  const { header, body } = unpack(packed);
  const films = header.films.map((film) => new Film(film, body));
  const steps = header.probes.map((_, probe) =>
    [...new Set(films.flatMap((film) => film.header.probes[probe]?.steps ?? []))].sort((a, b) => a - b),
  );
  return { films, steps, probes: header.probes, total: header.steps, notes: header.notes };
}

export class Film {
  /** @param {import("../base/messages.js").FilmHeader} header @param {Uint8Array} body */
  constructor(header, body) {
    this.header = header;
    this.body = body;
    this.last = null; // cached, so that an unchanged map is the same object
  }

  /** The map after a step: {tokens, keys, bytes, weights, caption}, or {absent, caption} with a reason. */
  shot({ probe, layer, head }, step) {
    const { probes, layers, heads, isFinished } = this.header;
    const sentence = probes[probe];
    if (!sentence?.steps.length) return { absent: "no map yet", caption: "" };
    if (layer >= layers) return { absent: `this model has no layer ${layer} (last: ${layers - 1})`, caption: "" };
    if (head !== null && head >= heads)
      return { absent: `this model has no head ${head} (last: ${heads - 1})`, caption: "" };
    const reached = sentence.steps.findLastIndex((mine) => mine <= step);
    const index = Math.max(0, reached);
    const mine = sentence.steps[index];
    const place = layers > 1 ? `layer ${layer} · ` : "";
    const headName = head !== null ? `head ${head}` : heads > 1 ? `mean of ${heads} heads` : "its only head";
    const behind = mine < step && mine === sentence.steps.at(-1);
    const note = `${behind ? `${isFinished ? "ended" : "is"} at ` : ""}step ${mine.toLocaleString("en")}`;
    const id = `${probe}.${layer}.${head}.${index}`;
    if (this.last?.id !== id)
      this.last = {
        id,
        tokens: sentence.tokens,
        keys: sentence.columns ?? sentence.tokens,
        ...this.map(sentence, index, layer, head),
      };
    return { ...this.last, caption: `${place}${headName} · ${note}` };
  }

  map({ tokens, columns, offset }, index, layer, head) {
    const { layers, heads } = this.header;
    const size = tokens.length * (columns ?? tokens).length;
    const first = offset + (index * layers + layer) * heads * size;
    const cellsOf = (index) => this.body.subarray(first + index * size, first + (index + 1) * size);
    if (head !== null) return { bytes: cellsOf(head), weights: Float32Array.from(cellsOf(head), (byte) => byte / 255) };
    const weights = new Float32Array(size);
    for (let index = 0; index < heads; index++) {
      const bytes = cellsOf(index);
      for (let cell = 0; cell < size; cell++) weights[cell] += bytes[cell];
    }
    for (let cell = 0; cell < size; cell++) weights[cell] /= 255 * heads;
    return { weights, bytes: toBytes(weights) };
  }
}

/** Format a weight known to 1/510 with two digits; 0 would be too exact. */
export function digits(weight) {
  const short = weight.toFixed(2);
  return short === "0.00" ? "<0.01" : short;
}

/** The largest weight among the queries with more than one visible key, as a sentence. */
export function strongest({ tokens, keys, weights, forbids }) {
  const n = keys.length;
  const first = n > 1 && forbids(0, 1) ? n : 0; // under a causal mask the first query sees only itself
  const best = first + argmax(weights.subarray(first));
  return `largest weight: ${quoted(tokens[Math.floor(best / n)])} → ${quoted(keys[best % n])} ${digits(weights[best])}`;
}

export class FilmMap extends BigMap {
  say([i, j]) {
    const { tokens, keys, weights, forbids } = /** @type {MapPicture} */ (this.picture);
    const cell = `${quoted(tokens[i])} → ${quoted(keys[j])}`;
    return forbids(i, j) ? `${cell}: ${BLOCKED}` : `${cell} ${digits(weights?.[i * keys.length + j])}`;
  }
}
