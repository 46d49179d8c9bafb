// Answers of the routes of Maps that this browser computes itself, in the format of pages/explore/handlers.py. What only
// Python's side can say is left out.

import { UserError } from "../base/dom.js";
import { MASKS, MAX_WINDOW, MODEL, TEMPERATURES } from "../base/facts.js";
import { isolated } from "../base/token_text.js";
import { counted, number } from "../base/words.js";
import { CORE_NAMES, mapsMessage, runUnder, sentenceOf } from "../compute/local_run.js";
import * as measures from "../compute/map_measures.js";
import { controlsOf, maskOf, ruleOf, unseenOf, valuesOff, withoutUnseen } from "../link/changes.js";
import { headName, headNames, headsOf, meanOf, parseAt, parseLook, writeAt, writeLook } from "../link/look.js";
import { forbiddenCells, normalRule, paintedTokens } from "../link/mask_rules.js";
import { pack, packParts, pooled, specials } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").ExplorePicture} Header */
/** @typedef {import("../compute/local_run.js").LocalRun & {ms: number}} LocalRun */
/** @typedef {import("../compute/model_file.js").BrowserModel} BrowserModel */
/** `template`: the header of a recorded answer of the model, of this text if there is one.
 * @typedef {{open(name: string, onProgress?: (share: number) => void): Promise<BrowserModel>,
 *   template(name: string, text?: string | null): Promise<Header>}} Models
 */
/** `rule` and `painted`: the mask; `position`: as in the core; `isPlain`: nothing is changed.
 * @typedef {import("../compute/local_run.js").LocalSettings & {name: string, rule: string, painted: string,
 *   position: string, isPlain: boolean}} Settings
 */

const NOTE =
  "Computed in this browser. Kinds of heads, notes on tokens, value norms, merged words, the next word and the comparison with transformers need Headlight’s server and are left out.";
const NOT_HERE = "This needs Headlight’s server.";
const NO_WORDS = "Tokens are merged into words by Headlight’s server only.";
const NO_LENGTHS = "Value norms are computed by Headlight’s server only.";
const FITS = "The model was trained like this."; // end of a note on a positional encoding
const ALL_LAYERS_UP_TO = 128; // tokens, as in headlight/ui/packing.py; also the side of a thumbnail
const MAX_WHOLE_WEIGHTS = 72 * ALL_LAYERS_UP_TO ** 2;
const MAX_RUNS = 4;
const KINDS = [...MASKS.map(({ name }) => name), "combination", "painted"];

/** The last runs by their settings. @type {Map<string, LocalRun>} */
const runs = new Map();

/** Answer a question of Maps. Throws an error with a sentence for what cannot be computed here; its `key` names the
 * parameter.
 * @param {string} route @param {URLSearchParams} query @param {Models} models @returns {Promise<Uint8Array>}
 */
export async function localAnswer(route, query, models) {
  if (route !== "maps" && route !== "focus") throw new UserError(NOT_HERE);
  const name = query.get("model") ?? MODEL;
  const [model, template] = await Promise.all([models.open(name), models.template(name, query.get("s"))]);
  const link = readLink(query, template);
  const settings = settingsOf(link.query, template);
  const now = runOf(model, settings);
  const plain = settingsOf(new URLSearchParams({ s: settings.text }), template);
  const before = settings.isPlain ? null : runOf(model, plain);
  const pin = await pinnedMap(link, template, models);
  const view = { model, template, link, settings, now, before, pin, look: parseLook(link.query.get("look") ?? "") };
  const at = placeOf(view);
  return packParts(focusMessage(view, at), ...(route === "maps" ? [packMaps(now, at.layer, digestOf(settings))] : []));
}

/** @typedef {{model: BrowserModel, template: Header, link: Link, settings: Settings, now: LocalRun,
 *   before: LocalRun | null, pin: Pin | null, look: Look}} Shown */
/** @typedef {ReturnType<typeof readLink>} Link */
/** @typedef {{header: import("../base/messages.js").PinnedMap, weights: Float32Array}} Pin */

/** @param {BrowserModel} model @param {Settings} settings @returns {LocalRun} */
function runOf(model, settings) {
  const digest = digestOf(settings);
  const known = runs.get(digest);
  if (known) return known;
  const start = performance.now();
  try {
    const run = { ...runUnder(model, settings), ms: performance.now() - start };
    runs.set(digest, run);
    if (runs.size > MAX_RUNS) runs.delete([...runs.keys()][0]);
    return run;
  } catch (error) {
    const isRule = error instanceof UserError;
    const key = isRule ? (settings.controls.mask === "painted" ? "on" : "rule") : "s";
    throw Object.assign(new UserError(sentenceOf(error)), { key });
  }
}

/** @param {Settings} settings */
const digestOf = (settings) => `browser ${pinTail(settings)}`;

/** The usable part of a link, and warnings about the rest by key. @param {URLSearchParams} query @param {Header} template */
function readLink(query, { layers, heads, positions, fixed, defaults }) {
  const isNumber = (/** @type {string} */ text) => /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_WINDOW;
  const isHead = (/** @type {string} */ text) => {
    const [layer, head = 0] = text.split(".").map(Number);
    return layer < layers && head < heads;
  };
  /** @type {Record<string, (text: string) => boolean>} */
  const checks = {
    mask: (text) => KINDS.includes(text),
    pos: (text) => positions.some(([name]) => name === text),
    t: (text) => text.trim() !== "" && Number(text) >= TEMPERATURES[0] && Number(text) <= TEMPERATURES[1],
    p: (text) => text === "" || paintedTokens(text) > 0,
    at: (text) => /^\d{1,4}(\.\d{1,4}){1,3}$/.test(text) && isHead(text),
    off: (text) => /^L\d{1,4}( H\d{1,4}| MLP)?$/.test(text) && isHead([...headsOf([text])][0].replace(".mlp", "")),
    unheard: (text) => /^(\d{1,4}(-\d{1,4})*)?$/.test(text),
    ...{ w: isNumber, first: isNumber, gap: isNumber },
  };
  const usable = new URLSearchParams(query);
  const [warnings, unusable] = [/** @type {Record<string, string>} */ ({}), /** @type {Record<string, string[]>} */ ({})];
  const ignore = (/** @type {string} */ key, /** @type {string[]} */ kept = [], why = "") => {
    const used = [kept.length ? kept : (defaults[key] ?? [])].flat().join(", ") || "nothing";
    const says = `The link says ${key}=${query.getAll(key).join(", ")}`;
    warnings[key] = `${says}, which cannot be used here; ${used} is used instead.${why && ` ${why}`}`;
    unusable[key] = kept;
    usable.delete(key);
    for (const text of kept) usable.append(key, text);
  };
  for (const key of new Set(query.keys())) {
    const kept = query.getAll(key).filter(checks[key] ?? (() => true));
    if (fixed[key] || kept.length < query.getAll(key).length) ignore(key, fixed[key] ? [] : kept, fixed[key]);
  }
  return { query: usable, warnings, unusable, ignore };
}

/** @param {URLSearchParams} query usable parameters @param {Header} template @returns {Settings} */
function settingsOf(query, { model: name, group, defaults }) {
  const controls = controlsOf(query);
  const off = headsOf(query.getAll("off"));
  const rule = normalRule(ruleOf(controls));
  const painted = (controls.mask === "painted" && controls.p) || "";
  const position = CORE_NAMES[controls.pos ?? "as trained"] ?? String(controls.pos);
  const changes = [rule !== "none", painted, position !== "trained", Number(controls.t ?? 1) !== 1, off.size, controls.unheard];
  const text = query.get("s") ?? String(defaults.s);
  return { name, text, controls, off, group, rule, painted, position, isPlain: !changes.some(Boolean) };
}

/** The cursor: of the link, of the recorded picture of this text, or the usual head. @param {Pick<Shown, "template" | "link" | "settings" | "now">} view
 * @returns {Spot} */
function placeOf({ template, link, settings, now }) {
  const isKnown = template.sentence === settings.text;
  const at = parseAt(link.query.get("at") ?? defaultsOf(settings, template).at);
  const { layer, head, row } = at;
  if (row !== null && row < now.n) return { ...at, row, key: at.key !== null && at.key < now.m ? at.key : null };
  const it = now.tokens.indexOf("it");
  const first = template.next.length ? now.n - 1 : it >= 0 ? it : Math.min(1, now.n - 1);
  return { layer, head, row: isKnown && template.row < now.n ? template.row : first, key: null };
}

/** The maps of which a mean is displayed; null for that of one head. @param {Look} look @param {Spot} at
 * @param {LocalRun} run @returns {[number, number][] | null}
 */
function headsToAverage(look, at, { layers, heads }) {
  const mean = meanOf(look);
  if (!mean) return null;
  const ofLayer = Array.from({ length: heads }, (_, head) => /** @type {[number, number]} */ ([at.layer, head]));
  const all = Array.from({ length: layers * heads }, (_, index) =>
    /** @type {[number, number]} */ ([Math.floor(index / heads), index % heads]),
  );
  if (mean !== "meanseen") return mean === "mean" ? ofLayer : all;
  const { layer, head } = parseAt(look.solo ?? "");
  if (look.solo) return [[layer, head]];
  const visible = (look.all ? all : ofLayer).filter((pair) => !look.hidden.has(pair.join(".")));
  return visible.length ? visible : ofLayer;
}

/** The header, then the map in focus, the same map before the changes, and the pinned map.
 * @param {Shown} view @param {Spot} at
 */
function focusMessage({ model, template, link, settings, now, before, pin, look }, at) {
  const { tokens, keyTokens, n, m, layers, heads, weights, ms, ends } = now;
  const averaged = headsToAverage(look, at, now);
  const hidden = look.renorm ? specials({ tokens, ends, columns: keyTokens }, look) : /** @type {[number, number]} */ ([0, 0]);
  const isReading = look.words || hidden.some(Boolean);
  const drawn = (/** @type {LocalRun} */ run) => {
    const map = averaged ? measures.meanMap(run, averaged) : measures.mapOf(run, at.layer, at.head).slice();
    return { map, shares: hidden.some(Boolean) ? measures.renormalise(map, hidden, m) : [] };
  };
  const forbiddenOf = (/** @type {LocalRun} */ { forbidden, masks }) => {
    if (!averaged && !isReading) return forbidden;
    const chosen = masks.length === 1 ? masks : averaged ? averaged.map(([, head]) => masks[head]) : [masks[at.head]];
    return forbiddenCells([chosen.reduce((any, mask) => any.map((cell, index) => cell | mask[index]))]);
  };
  const [{ map, shares }, base] = [drawn(now), before && drawn(before).map];
  const change = before && measures.largestChange(now, before);
  const largest = base?.reduce((most, weight, index) => Math.max(most, Math.abs(map[index] - weight)), 0) ?? 0;
  const order = (/** @type {number} */ length) => Array.from({ length }, (_, index) => index);
  const cosine = before ? measures.sentenceCosine(now, before) : 1;
  const notices = [NOTE, ...allOffNotes(settings, now), ...unknownNotes(tokens)];
  const maxLength = model.sizes.max_len;
  /** @type {Header} */
  const header = {
    ...template,
    digest: digestOf(settings),
    texts: { s: settings.text },
    unusable: link.unusable,
    warnings: Object.values(link.warnings),
    notices: [...Object.values(link.warnings), ...notices],
    defaults: defaultsOf(settings, template),
    fixed: { lengths: NO_LENGTHS, ...template.fixed },
    ...at,
    ...{ next: [], stages: null, word: "", wordSentence: "", surprise: look.surprise ? [] : null, topHeads: {} },
    ...{ compared: "", pieces: [], patches: null, sound: null, telling: [], tile: 0, values: null, done: layers },
    look: writeLook(look),
    label: labelOf(settings, tokens, template),
    sentence: settings.text,
    forbidden: forbiddenOf(now),
    mean: averaged && meanNote(now, averaged),
    reading: isReading
      ? { rows: null, columns: null, rowOf: order(n), columnOf: order(m), sentence: look.words ? NO_WORDS : "", hiddenShares: shares }
      : null,
    columns: columnNote(settings, tokens, cosine),
    figures: figuresOf(model, settings, now, cosine),
    status: `this browser · computed in ${ms.toFixed(1)} ms · ${sizeText(weights.length)} of maps · ${n} of at most ${maxLength} tokens`,
    kinds: Array.from({ length: layers }, () => []),
    effect: change && { ...change, focusMaximum: largest },
    baseline: before && base && { forbidden: forbiddenOf(before), distances: measures.rowDistances(base, map, m) },
    pinTail: pinTail(settings),
    pin: pin && pin.header,
  };
  return pack(header, map, ...(base ? [base] : []), ...(pin ? [pin.weights] : []));
}

/** All maps; large ones of one layer, with thumbnails of the others. @param {LocalRun} run @param {number} layer
 * @param {string} digest
 */
function packMaps(run, layer, digest) {
  const { header, body } = mapsMessage(run, digest);
  const { n, m, layers, heads } = run;
  if (Math.max(n, m) <= ALL_LAYERS_UP_TO && body.length <= MAX_WHOLE_WEIGHTS) return pack(header, body);
  const mapBytes = (/** @type {number} */ index) => body.subarray(index * n * m, (index + 1) * n * m);
  const small = Array.from({ length: layers * heads }, (_, index) => pooled({ size: n, bytes: mapBytes(index) }, ALL_LAYERS_UP_TO));
  const whole = body.subarray(layer * heads * n * m, (layer + 1) * heads * n * m);
  return pack({ ...header, fullLayers: [layer], thumbnail: small[0].size }, whole, ...small.map(({ bytes }) => bytes));
}

/** @param {number} bytes */
const sizeText = (bytes) => (bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** The defaults of the link; the head of a recorded text is that of its recorded answer.
 * @param {Settings} settings @param {Header} template
 */
const defaultsOf = ({ name, text }, { sentence, defaults }) => ({
  ...defaults,
  at: sentence === text ? String(defaults.at) : name === MODEL ? "3.1" : "0.0",
});

/** @param {string[]} words */
const quotedAll = (words) => words.map((word) => `“${isolated(word)}”`).join(" and ");

/** The tokens at these places. @param {Iterable<number>} places @param {string[]} tokens */
const tokensAt = (places, tokens) => [...places].sort((a, b) => a - b).flatMap((place) => tokens[place] ?? []);

/** The ablated parts, by kind. @param {Set<string>} off */
function partsOf(off) {
  const parts = [...off].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const mlps = parts.filter((part) => part.endsWith(".mlp")).map((part) => part.split(".")[0]);
  return { heads: parts.filter((part) => /\.\d+$/.test(part)), mlps, layers: parts.filter((part) => /^\d+$/.test(part)) };
}

/** What differs from the unmodified model, as `label` of headlight/picture/words.py.
 * @param {Settings} settings @param {string[]} tokens @param {Header} template
 */
function labelOf({ rule, painted, position, controls, off }, tokens, { positions, ownMask }) {
  const unseen = quotedAll(tokensAt(unseenOf(rule), tokens));
  const rest = unseen ? withoutUnseen(rule) : rule;
  const name = controls.pos ?? "";
  const note = positions.find(([encoding]) => encoding === name)?.[1] ?? "";
  const text = position === "none" ? "no positions" : `${name} positions`;
  const fit = note.endsWith(FITS) ? ", as in training" : position === "none" ? "" : " (this model was not trained for them)";
  const { heads, mlps, layers } = partsOf(off);
  const unheard = quotedAll(tokensAt(valuesOff(controls), tokens));
  const parts = [
    rest !== "none" && `mask ${rest.replaceAll(":", " ")}`,
    unseen && `${unseen} masked for all others`,
    painted && `painted cells${/\.\d/.test(painted) ? " for single heads" : ""}`,
    position !== "trained" && `${text}${fit}`,
    Number(controls.t ?? 1) !== 1 && `temperature ${Number(controls.t)}`,
    heads.length && `${counted(heads.length, "head")} off`,
    mlps.length && `${counted(mlps.length, "MLP")} off`,
    layers.length && `${counted(layers.length, "layer")} off`,
    unheard && `without the value of ${unheard}`,
  ].filter(Boolean);
  return `${parts.join(", ") || "nothing changed"}${ownMask === "none" ? "" : `, ${ownMask} mask: built in`}`;
}

/** A note on what is left if every layer or head is ablated. @param {Settings} settings @param {LocalRun} run */
function allOffNotes({ off }, { layers: nLayers, heads: nHeads }) {
  const { heads, mlps, layers } = partsOf(off);
  if (layers.length === nLayers)
    return ["Every layer with these maps is ablated: each hands on its input unchanged, so the last one gives the embeddings."];
  const silent = new Set([...heads, ...layers.flatMap((layer) => Array.from({ length: nHeads }, (_, head) => `${layer}.${head}`))]);
  if (silent.size < nLayers * nHeads) return [];
  const too = mlps.length === nLayers ? "; every MLP is ablated too" : "";
  return [`Every head is ablated: in these layers no token receives anything from another${too}.`];
}

/** @param {string[]} tokens */
function unknownNotes(tokens) {
  const unknown = tokens.filter((token) => token === "[UNK]").length;
  return unknown ? [`This model does not know ${unknown} of these ${tokens.length} tokens; it reads each of them as [UNK].`] : [];
}

/** The mean that is displayed, and the head nearest to it. @param {LocalRun} run @param {[number, number][]} pairs */
function meanNote(run, pairs) {
  const oneLayer = new Set(pairs.map(([layer]) => layer)).size === 1;
  if (pairs.length === 1 && run.heads === 1) return `Layer ${pairs[0][0]} has one head, so the mean is the map of that head.`;
  if (pairs.length === 1) return `The map of ${headName(pairs[0].join("."))}.`;
  const mean = measures.meanMap(run, pairs);
  const far = pairs.map(([layer, head]) => {
    const distances = measures.rowDistances(measures.mapOf(run, layer, head), mean, run.m);
    return distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
  });
  const least = Math.min(...far);
  const best = pairs[far.indexOf(least)];
  const name = oneLayer ? `head ${best[1]}` : headName(best.join("."));
  if (!least) return `The mean of ${pairs.length} heads. ${name[0].toUpperCase()}${name.slice(1)} has exactly this map.`;
  return `The mean of ${pairs.length} heads; no single head has this map. The nearest is ${name}; on average ${number(least)} of a row’s weight is elsewhere (total variation).`;
}

/** Name the tokens that are hidden from others. @param {Settings} settings @param {string[]} tokens @param {number} cosine */
function columnNote({ rule, painted, position, controls, off }, tokens, cosine) {
  const [unseen, unheard] = [unseenOf(rule), valuesOff(controls)].map((places) => quotedAll(tokensAt(places, tokens)));
  if (!unseen && !unheard) return "";
  const others = withoutUnseen(rule) !== "none" || painted || position !== "trained" || Number(controls.t ?? 1) !== 1 || off.size;
  return [
    unseen && `${unseen} is masked for all other tokens, so the softmax distributes its weight over the other keys.`,
    unheard && `The weights on ${unheard} stay, but its value is zeroed for all other tokens.`,
    `The sentence vector’s cosine to the unchanged one is ${precise(cosine)}${others ? ", with all that is changed" : ""}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** A cosine in three decimals, in six if it only rounds to 1. @param {number} cosine */
function precise(cosine) {
  const [six, three] = [6, 3].map((decimals) => cosine.toFixed(decimals).replace("-", "−"));
  return three === "1.000" && six !== "1.000000" ? six : three;
}

/** The figures below the maps. @param {BrowserModel} model @param {Settings} settings @param {LocalRun} run
 * @param {number} cosine @returns {import("../base/messages.js").Figure[]}
 */
function figuresOf({ classes }, { off }, { weights, m, layers, heads, classLogits }, cosine) {
  const parts = partsOf(off);
  const ablated = [
    { value: `${parts.heads.length} of ${layers * heads}`, label: "ablated heads" },
    parts.mlps.length && { value: `${parts.mlps.length} of ${layers}`, label: "ablated MLPs" },
    parts.layers.length && { value: `${parts.layers.length} of ${layers}`, label: "ablated layers" },
  ].filter((figure) => typeof figure === "object");
  return [
    ...(classLogits ? [answerOf(classLogits, classes)] : []),
    { value: precise(cosine), label: "cosine to the unchanged model’s sentence vector" },
    ...ablated,
    { value: measures.worstRowSum(weights, m).toFixed(6), label: "row sum farthest from 1, over all rows of all maps" },
  ];
}

/** A classifier's most probable classes. @param {Float32Array} logits @param {string[]} classes */
function answerOf(logits, classes) {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  const chances = powers.map((power, index) => /** @type {const} */ ([power / sum, classes[index]]));
  const text = (/** @type {number} */ chance) => {
    const short = chance.toFixed(2);
    return chance < 1 && short === "1.00" ? ">0.99" : number(chance);
  };
  const [first, ...others] = chances.sort((a, b) => b[0] - a[0]).slice(0, 3).map(([chance, name]) => `${name} ${text(chance)}`);
  const then = others.length ? `; then ${others.join(", ")}` : "";
  return { value: first, label: `the model’s answer for this sentence with these settings${then}` };
}

/** A picture's settings in the text of a pin, after the cursor, as pages/explore/pins.py. @param {Settings} settings */
function pinTail({ name, text, rule, painted, position, controls, off }) {
  const { heads, mlps, layers } = partsOf(off);
  const ablations = [heads, valuesOff(controls), mlps, layers].map((places) => places.join("-")).join("!").replace(/!+$/, "");
  const model = name === MODEL ? "" : `@${name.replaceAll("~", "!")}`;
  const mask = painted ? `${rule}/${painted}` : rule;
  return [model, mask, position, String(Number(controls.t ?? 1)), ablations, text].join("~");
}

/** The pinned map of a link, null for none. @param {Link} link @param {Header} template @param {Models} models
 * @returns {Promise<Pin | null>}
 */
async function pinnedMap(link, template, models) {
  const pin = link.query.get("pin");
  if (!pin) return null;
  const [place, mask = "", position, t, ablations = "", ...words] = pin.split("~");
  const [at, model = ""] = place.split("@");
  const [rule, p] = mask.split("/");
  const [heads, unheard, mlps, layers] = [...ablations.split("!"), "", "", ""].map((places) => places.split("-").filter(Boolean));
  const pos = Object.keys(CORE_NAMES).find((name) => CORE_NAMES[name] === position) ?? position;
  const controls = { ...(p ? { mask: "painted", on: rule, p } : maskOf(rule)), pos, t, unheard: unheard.join("-"), at };
  const query = new URLSearchParams({ s: words.join("~") });
  for (const [key, value] of Object.entries(controls)) if (value) query.set(key, value);
  for (const part of headNames([...heads, ...mlps.map((layer) => `${layer}.mlp`), ...layers])) query.append("off", part);
  try {
    const name = model.replaceAll("!", "~") || MODEL;
    const other = name === template.model ? template : await models.template(name, query.get("s"));
    const read = readLink(query, other);
    if (Object.keys(read.unusable).length) throw new UserError("This is not a valid pin.");
    const settings = settingsOf(read.query, other);
    const run = runOf(await models.open(name), settings);
    const spot = placeOf({ template: other, link: read, settings, now: run });
    const suffix = name === template.model ? "" : `; ${(await models.open(name)).title}`;
    const label = labelOf(settings, run.tokens, other) + suffix;
    const { tokens, keyTokens, ends, forbidden } = run;
    const header = { tokens, columns: keyTokens, ends, forbidden, label, cursor: writeAt(spot, true) };
    return { header, weights: measures.mapOf(run, spot.layer, spot.head) };
  } catch {
    link.ignore("pin");
    return null;
  }
}
