// The models that compute in this browser. A small one is loaded when it is needed; for a large one the page offers it
// with its size, shows the progress, and asks the view again when it is there.

import { formatBytes } from "../frame/other_models.js";
import { h, render, urlOf, UserError } from "../base/dom.js";
import { MODEL } from "../base/facts.js";
import { views } from "../base/view_base.js";
import { baseOf, titleOf } from "../link/model_name.js";
import { parts, unpack } from "../wire/packets.js";
import { openModel } from "../compute/model_file.js";
import { facts } from "./facts.js";
import { findRecording } from "./recordings.js";

/** @typedef {import("../compute/model_file.js").BrowserModel} BrowserModel */

const LARGE = 2e6; // bytes from which a model is offered, not just loaded
const KEPT = "It is loaded once and kept by this browser.";
const NOT_KEPT = "This browser keeps no files of this page, so it is loaded again at the next visit.";

/** Name -> the model. @type {Map<string, Promise<BrowserModel>>} */
const promises = new Map();
const offer = h("section", { id: "headlight-load", "aria-label": "Load the model" });
const ready = /** @type {Set<string>} */ (new Set());

/** @param {string} name */
export const isLarge = (name) => facts.files[name].bytes > LARGE;

/** The cache of models; null in a browser that stores nothing. */
async function storage() {
  try {
    return await caches.open(`headlight ${new URL("./", location.href)} models`);
  } catch {
    return null;
  }
}

/** Read a file. @param {Response} response @param {(done: number) => void} onProgress */
async function read(response, onProgress) {
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).getReader();
  const pieces = [];
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    pieces.push(piece.value);
    length += piece.value.length;
    onProgress(length);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Load a model, and keep it once it can be opened. @param {string} name @param {(done: number) => void} onProgress */
async function load(name, onProgress) {
  const url = urlOf(facts.files[name].file);
  const cache = await storage();
  const stored = await cache?.match(url);
  const response = stored ?? (await fetch(url));
  if (!response.ok) throw new UserError("The file of the model is not on this site.");
  const bytes = await read(response, onProgress);
  if (stored && bytes.length !== facts.files[name].bytes) {
    await cache?.delete(url); // of an older export
    return load(name, onProgress);
  }
  try {
    const model = await openModel(bytes);
    if (model.name !== name) throw new UserError(`The file has another model, “${model.title}”; load it again.`);
    if (!stored && isLarge(name)) await cache?.put(url, new Response(bytes)).catch(() => {}); // no space
    ready.add(name);
    return model;
  } catch (error) {
    await cache?.delete(url); // of an older export
    throw error;
  }
}

/** Open a model. @param {string} name @param {(done: number) => void} [onProgress] @returns {Promise<BrowserModel>} */
export function open(name, onProgress = () => {}) {
  const model = promises.get(name) ?? load(name, onProgress);
  promises.set(name, model);
  model.catch(() => promises.delete(name));
  return model;
}

/** Draw the offer in front of the view. @param {string} name @param {string} text @param {number | null} share loaded */
function draw(name, text, share = null) {
  const size = facts.files[name].bytes;
  const isLoading = share !== null;
  const bar = ["progress", { max: "1", value: share ?? 0, "aria-label": titleOf(name), hidden: !isLoading }];
  const press = { hidden: isLoading, onclick: () => loadOffered(name) };
  render(
    offer,
    ["p", { role: "status" }, text],
    ["button", press, `Load ${titleOf(name)} (${formatBytes(size)})`],
    bar,
  );
  if (!offer.isConnected) document.querySelector(".st-key-stage > .place")?.before(offer);
}

/** Load a model that is offered, then ask the views again. @param {string} name */
async function loadOffered(name) {
  const size = facts.files[name].bytes;
  const show = (done) =>
    draw(name, `Loading ${titleOf(name)}: ${formatBytes(done)} of ${formatBytes(size)}.`, done / size);
  show(0);
  try {
    await open(name, show);
    offer.remove();
    for (const view of views) /** @type {Partial<ApiView>} */ (view).follow?.();
  } catch (error) {
    const isNetworkError = error instanceof TypeError;
    draw(name, isNetworkError ? "The file of the model cannot be reached." : /** @type {Error} */ (error).message);
  }
}

/** What local_responses.js computes with. */
export const models = {
  /** Open a model, or offer it if it is large and not here. @param {string} link its name in links @returns {Promise<BrowserModel>} */
  async open(link) {
    const name = baseOf(link);
    const file = facts.files[name];
    const title = titleOf(name);
    if (!file) throw new UserError(`${title} shows its recorded sentences here. Start a server with ${facts.start}.`);
    const size = formatBytes(file.bytes);
    const cache = await storage();
    if (!isLarge(name) || ready.has(name) || (await cache?.match(urlOf(file.file)))) return open(name);
    if (!promises.has(name))
      draw(name, `${title} computes your own sentences and changes in this browser. ${cache ? KEPT : NOT_KEPT}`);
    throw new UserError(`This is computed here as soon as ${title} is loaded (${size}).`);
  },
  /** The header of a recorded response of Maps, if possible of this text. @param {string} name @param {string | null} [text]
   * @returns {Promise<import("../base/messages.js").ExplorePicture>} */
  async template(name, text = null) {
    const query = new URLSearchParams(name === MODEL ? {} : { model: name });
    const ofText = new URLSearchParams(query);
    if (text !== null) ofText.set("s", text);
    const response = (await findRecording("maps", ofText)) ?? (await findRecording("maps", query));
    if (!response) throw new UserError(`There is no recorded picture of ${titleOf(name)} on this site.`);
    return unpack(parts(response)[0]).header;
  },
};
