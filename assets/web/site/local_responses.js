// Responses of the routes of Maps that this browser computes itself, in the format of pages/explore/handlers.py. What only
// Python's side can say is left out.

import { UserError } from "../base/dom.js";
import { MODEL, TEMPERATURES } from "../base/facts.js";
import { counted, quoted } from "../base/words.js";
import { changed, controlsOf, ruleOf, unseenOf, valuesOff, withoutUnseen } from "../link/changes.js";
import { headsOf, meanOf, parseAt, parseLook, writeLook } from "../link/look.js";
import { forbiddenCells, normalRule, paintedTokens } from "../link/mask_rules.js";
import { headsOfRun, mapsMessage, runUnder, sentenceOf, unknownNotes } from "../compute/local_run.js";
import { largestChange, mapOf, meanMap, renormalise, rowDistances, worstRowSum } from "../compute/map_measures.js";
import { pack, packParts, pooled, specials } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").ExplorePicture} Header */
/** @typedef {import("../compute/model_file.js").BrowserModel} BrowserModel */
/** @typedef {import("../compute/local_run.js").LocalRun & {ms: number}} LocalRun */
/** @typedef {import("../compute/local_run.js").LocalSettings} LocalSettings */
/** `template`: the header of a recorded response of the model, of this text if there is one.
 * @typedef {{open(name: string): Promise<BrowserModel>,
 *   template(name: string, text?: string | null): Promise<Header>}} Models
 */

const NOTE =
  "Computed in this browser. Kinds of heads, telling heads of new sentences, notes on tokens, value norms, merged words, pins, the next word, the sentence vector and the comparison with transformers need Headlight’s server and are left out.";
const NOT_HERE = "This needs Headlight’s server.";
const NO_WORDS = "Tokens are merged into words by Headlight’s server only.";
const SIDE = 128; // tokens up to which all layers are whole, and of a thumbnail, as in headlight/ui/packing.py
const MAX_RUNS = 4;

/** The last runs by their settings. @type {Map<string, LocalRun>} */
const runs = new Map();

/** Respond to a request of Maps, of the route maps or focus. Throws an error with a sentence for what cannot be computed
 * here; its `key` names the parameter.
 * @param {string} route @param {URLSearchParams} query @param {Models} models @returns {Promise<Uint8Array>}
 */
export async function localResponse(route, query, models) {
  const name = query.get("model") ?? MODEL;
  const [model, template] = await Promise.all([models.open(name), models.template(name, query.get("s"))]);
  check(query, template);
  const [controls, off] = [controlsOf(query), headsOf(query.getAll("off"))];
  const text = query.get("s") ?? String(template.defaults.s);
  const plain = { text, controls: {}, off: new Set(), group: template.group };
  const settings = { ...plain, controls, off };
  const now = runOf(model, settings);
  const before = changed(controls, off).length ? runOf(model, plain) : null;
  const at = cursorOf(query, template, text, now);
  const focus = focusMessage({ model, template, settings, now, before, at, look: parseLook(query.get("look") ?? "") });
  return packParts(focus, ...(route === "maps" ? [packMaps(now, at.layer, digestOf(model, settings))] : []));
}

/** @param {BrowserModel} model @param {LocalSettings} settings */
const digestOf = ({ name }, { off, ...settings }) => JSON.stringify({ name, ...settings, off: [...off] });

/** @param {BrowserModel} model @param {LocalSettings} settings @returns {LocalRun} */
function runOf(model, settings) {
  const digest = digestOf(model, settings);
  const known = runs.get(digest);
  if (known) return known;
  const start = performance.now();
  try {
    const run = { ...runUnder(model, settings), ms: performance.now() - start };
    runs.set(digest, run);
    if (runs.size > MAX_RUNS) runs.delete([...runs.keys()][0]);
    return run;
  } catch (error) {
    const key = { painted: "on", combination: "rule" }[settings.controls.mask ?? ""] ?? "mask";
    throw refusal(error instanceof UserError ? key : "s", sentenceOf(error)); // of the engine the text's
  }
}

/** @param {string} key of a parameter @param {string} sentence */
const refusal = (key, sentence) => Object.assign(new UserError(sentence), { key });

/** Throw an error for a parameter that no control could have. @param {URLSearchParams} query @param {Header} template */
function check(query, { layers, heads, positions, fixed }) {
  const isHead = (/** @type {number[]} */ [layer, head = 0]) => layer < layers && head < heads;
  const lacks = (/** @type {string} */ text) =>
    fixed[text.endsWith("MLP") ? "mlps" : text.includes(" ") ? "" : "layers"];
  /** @type {Record<string, (text: string) => boolean>} */
  const checks = {
    pos: (text) => positions.some(([name]) => name === text),
    t: (text) => Number(text) >= TEMPERATURES[0] && Number(text) <= TEMPERATURES[1],
    p: (text) => text === "" || paintedTokens(text, heads) > 0,
    at: (text) => /^\d+(\.\d+){1,3}$/.test(text) && isHead(text.split(".").map(Number)),
    off: (text) => /^L\d+( H\d+| MLP)?$/.test(text) && isHead((text.match(/\d+/g) ?? []).map(Number)) && !lacks(text),
    unheard: (text) => /^(\d+(-\d+)*)?$/.test(text),
  };
  for (const [key, text] of query)
    if (fixed[key] || checks[key]?.(text) === false)
      throw refusal(key, `The link says ${key}=${text}, which cannot be used here. ${fixed[key] ?? ""}`.trim());
}

/** The cursor of the link; otherwise the head, and of this text the row, of the recorded picture.
 * @param {URLSearchParams} query @param {Header} template @param {string} text @param {LocalRun} run @returns {Spot}
 */
function cursorOf(query, template, text, { tokens, n, m }) {
  const at = parseAt(query.get("at") ?? String(template.defaults.at));
  if (at.row !== null && at.row < n) return { ...at, row: at.row, key: at.key !== null && at.key < m ? at.key : null };
  const defaultRow = template.next.length ? n - 1 : tokens.includes("it") ? tokens.indexOf("it") : Math.min(1, n - 1);
  return { ...at, row: template.sentence === text ? template.row : defaultRow, key: null };
}

/** The heads whose mean is displayed; null for a single one.
 * @param {Look} look @param {Spot} at @param {LocalRun} run @returns {[number, number][] | null}
 */
function headsToAverage(look, at, run) {
  const mean = meanOf(look);
  const all = headsOfRun(run);
  const ofLayer = all.filter(([layer]) => layer === at.layer);
  if (mean !== "meanseen") return mean === "mean" ? ofLayer : mean ? all : null;
  const isVisible = (/** @type {string} */ head) => (look.solo ? head === look.solo : !look.hidden.has(head));
  const visible = (look.solo || look.all ? all : ofLayer).filter((pair) => isVisible(pair.join(".")));
  return visible.length ? visible : ofLayer;
}

/** The displayed map of a run, of one head or the mean of several, renormalised without hidden tokens; its forbidden
 * cells; and `reading` of the header, null for the head as it is.
 * @param {LocalRun} run @param {Spot} at @param {Look} look @param {[number, number][] | null} averaged heads
 */
function readingOf(run, at, look, averaged) {
  const { tokens, keyTokens, n, m, ends, forbidden, masks } = run;
  const hidden = look.renorm ? specials({ tokens, ends, columns: keyTokens }, look) : [0, 0];
  const isHiding = hidden.some(Boolean);
  const isReading = look.words || isHiding;
  const map = averaged ? meanMap(run, averaged) : mapOf(run, at.layer, at.head).slice();
  const hiddenShares = isHiding ? renormalise(map, /** @type {[number, number]} */ (hidden), m) : [];
  const maskOf = (/** @type {number[]} */ [, head]) => masks[head] ?? masks[0];
  const chosen = (averaged ?? [[at.layer, at.head]]).map(maskOf);
  const union = () => forbiddenCells([chosen.reduce((any, mask) => any.map((cell, index) => cell | mask[index]))]);
  const indices = (/** @type {number} */ length) => [...new Array(length).keys()];
  const places = { rows: null, columns: null, rowOf: indices(n), columnOf: indices(m) };
  return {
    map,
    forbidden: averaged || isReading ? union() : forbidden,
    reading: isReading ? { ...places, sentence: look.words ? NO_WORDS : "", hiddenShares } : null,
  };
}

/** The header, then the map in focus, and the same map before the changes.
 * @param {{model: BrowserModel, template: Header, settings: LocalSettings, now: LocalRun, before: LocalRun | null, at: Spot,
 *   look: Look}} view
 */
function focusMessage({ model, template, settings, now, before, at, look }) {
  const { tokens, n, m, layers, heads, weights } = now;
  const averaged = headsToAverage(look, at, now);
  const base = before && readingOf(before, at, look, averaged);
  const { map, forbidden, reading } = readingOf(now, at, look, averaged);
  const focusMaximum = base
    ? map.reduce((most, weight, index) => Math.max(most, Math.abs(weight - base.map[index])), 0)
    : 0;
  const ablated = [...settings.off].filter((part) => /\.\d+$/.test(part)).length;
  const size = `${(weights.length / 1000).toFixed(0)} kB of maps · ${n} of at most ${model.sizes.max_len} tokens`;
  /** @type {Header} */
  const header = {
    ...{ ...template, ...at, unusable: {}, warnings: [], pinTail: "", pin: null, tile: 0, values: null },
    ...{ next: [], stages: null, word: "", wordSentence: "", surprise: look.surprise ? [] : null, topHeads: {} },
    ...{ compared: "", pieces: [], patches: null, sound: null, columns: "", done: layers, look: writeLook(look) },
    digest: digestOf(model, settings),
    sentence: settings.text,
    texts: { s: settings.text },
    telling: template.sentence === settings.text ? template.telling : [],
    notices: [NOTE, ...unknownNotes(tokens)],
    fixed: { lengths: NOT_HERE, ...template.fixed },
    label: labelOf(settings, tokens, template),
    forbidden,
    mean: averaged && `The mean of ${counted(averaged.length, "head")}.`,
    reading,
    figures: [
      { value: `${ablated} of ${layers * heads}`, label: "ablated heads" },
      { value: worstRowSum(weights, m).toFixed(6), label: "row sum farthest from 1, over all rows of all maps" },
    ],
    status: `this browser · computed in ${now.ms.toFixed(1)} ms · ${size}`,
    kinds: Array.from({ length: layers }, () => []),
    effect: before && { ...largestChange(now, before), focusMaximum },
    baseline: base && { forbidden: base.forbidden, distances: rowDistances(base.map, map, m) },
  };
  return pack(header, map, ...(base ? [base.map] : []));
}

/** All maps; large ones of one layer, with thumbnails of all. @param {LocalRun} run @param {number} layer
 * @param {string} digest
 */
function packMaps(run, layer, digest) {
  const { header, body } = mapsMessage(run, digest);
  const { n, m, heads } = run;
  if (Math.max(n, m) <= SIDE) return pack(header, body);
  const bytesOf = (/** @type {number} */ head) => body.subarray(head * n * m, (head + 1) * n * m);
  const small = headsOfRun(run).map((_, index) => pooled({ size: n, bytes: bytesOf(index) }, SIDE));
  const whole = body.subarray(layer * heads * n * m, (layer + 1) * heads * n * m);
  return pack({ ...header, fullLayers: [layer], thumbnail: small[0].size }, whole, ...small.map(({ bytes }) => bytes));
}

/** What differs from the unmodified model, as `label` of headlight/picture/words.py.
 * @param {LocalSettings} settings @param {string[]} tokens @param {Header} template
 */
function labelOf({ controls, off }, tokens, { positions, ownMask }) {
  const tokensAt = (/** @type {Iterable<number>} */ places) =>
    [...places]
      .sort((a, b) => a - b)
      .flatMap((place) => (place in tokens ? quoted(tokens[place]) : []))
      .join(" and ");
  const count = (/** @type {RegExp} */ kind, /** @type {string} */ noun) => {
    const found = [...off].filter((part) => kind.test(part)).length;
    return found && `${counted(found, noun)} off`;
  };
  const rule = normalRule(ruleOf(controls));
  const unseen = tokensAt(unseenOf(rule));
  const unheard = tokensAt(valuesOff(controls));
  const mask = (unseen ? withoutUnseen(rule) : rule).replaceAll(":", " ");
  const pos = controls.pos ?? "as trained";
  const isTrained = positions.some(([name, note]) => name === pos && note.endsWith("The model was trained like this."));
  const fit = isTrained ? ", as in training" : pos === "none" ? "" : " (this model was not trained for them)";
  const t = Number(controls.t ?? 1);
  const painted = controls.mask === "painted" && controls.p;
  const parts = [
    mask !== "none" && `mask ${mask}`,
    unseen && `${unseen} masked for all others`,
    painted && `painted cells${/\.\d/.test(painted) ? " for single heads" : ""}`,
    pos !== "as trained" && `${pos === "none" ? "no" : pos} positions${fit}`,
    t !== 1 && `temperature ${t}`,
    ...[count(/\.\d+$/, "head"), count(/mlp$/, "MLP"), count(/^\d+$/, "layer")],
    unheard && `without the value of ${unheard}`,
  ];
  return `${parts.filter(Boolean).join(", ") || "nothing changed"}${ownMask === "none" ? "" : `, ${ownMask} mask: built in`}`;
}
