// A run of this browser's engine under the controls of a link.

import { valuesOff } from "../link/changes.js";
import { MLP } from "../link/look.js";
import { forbiddenCells, masksOf } from "../link/mask_rules.js";
import { toBytes } from "../wire/packets.js";
import { computeRun, tokenize } from "./run.js";

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** `off`: ablated parts, as "3.1", "3.mlp" and "3"; `group`: kind of attention.
 * @typedef {{text: string, controls: Controls, off: Set<string>, group: string}} LocalSettings */
/** @typedef {ReturnType<typeof runUnder>} LocalRun */

/** Positions of a link whose name in the core is another. @type {Record<string, string>} */
const CORE_NAMES = { "as trained": "trained", halved: "scaled:0.5", doubled: "scaled:2" };

/** Compute a run. Throws an error with a sentence for a text or rule that cannot be used.
 * @param {BrowserModel} model @param {LocalSettings} settings
 */
export function runUnder(model, { text, controls, off, group }) {
  const parts = [...off];
  const layersOf = (/** @type {RegExp} */ kind) => parts.filter((part) => kind.test(part)).map(parseFloat);
  const isDecoder = group === "decoder" && group !== Object.keys(model.groups)[0]; // it reads its own translation
  const { length } = isDecoder ? computeRun(model, text, { group }).tokens : tokenize(model, text).tokens;
  const masks = masksOf(controls, length, model.sizes.n_heads, model.groups[group].ownMask);
  const run = computeRun(model, text, {
    group,
    allow: masks.some((cells) => cells.includes(0)) ? Uint8Array.from(masks.flatMap((cells) => [...cells])) : null,
    position: CORE_NAMES[controls.pos ?? "as trained"] ?? String(controls.pos),
    temperature: Number(controls.t ?? 1),
    headsOff: parts.filter((part) => /^\d+\.\d+$/.test(part)),
    mlpsOff: layersOf(new RegExp(`^\\d+\\.${MLP}$`)),
    layersOff: layersOf(/^\d+$/),
    valuesOff: valuesOff(controls),
  });
  return { ...run, masks, forbidden: forbiddenCells(masks) };
}

/** All maps of a run as a message's header and body. @param {LocalRun} run @param {string} digest */
export function mapsMessage({ tokens, keyTokens, ends, layers, heads, weights }, digest) {
  const fullLayers = Array.from({ length: layers }, (_, layer) => layer);
  /** @type {import("../base/messages.js").Maps} */
  const header = { digest, tokens, columns: keyTokens, ends, layers, heads, fullLayers, thumbnail: 0 };
  return { header, body: toBytes(weights) };
}

/** Layer and head of all maps of a run. @param {{layers: number, heads: number}} run @returns {[number, number][]} */
export const headsOfRun = ({ layers, heads }) =>
  Array.from({ length: layers * heads }, (_, index) => [Math.floor(index / heads), index % heads]);

/** A note on unknown tokens, if there are some. @param {string[]} tokens */
export function unknownNotes(tokens) {
  const unknown = tokens.filter((token) => token === "[UNK]").length;
  return unknown ? [`This model does not know ${unknown} of these ${tokens.length} tokens and reads [UNK].`] : [];
}

/** The message of an error as a sentence. @param {unknown} error */
export function sentenceOf(error) {
  const { message } = /** @type {Error} */ (error);
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1).replace(/\.$/, "")}.`;
}
