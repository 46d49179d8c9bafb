// What the visitor of Explore has chosen as one state, what changes it, and what is to be asked next to show it.

import { changed, controlsOf } from "../link/changes.js";
import { setParam, omit } from "../link/link.js";
import {
  askedOf,
  headName,
  headsOf,
  inOrder,
  singleMapLook,
  parseLook,
  reads,
  writeAt,
  writeLook,
} from "../link/look.js";
import { arrived, moved, placeOf, clampPlace } from "../link/place.js";

/** @typedef {import("../link/changes.js").Controls} Controls */
/** @typedef {import("../link/look.js").Look} Look */
/** @typedef {import("../link/look.js").At} At */
/** @typedef {import("../link/place.js").Spot} Spot */
/** @typedef {import("./explore_picture.js").ExplorePicture} Picture */
/** @typedef {Spot & {text: string, rowChosen: boolean}} Sentence and what is looked at in it */
/** @typedef {{controls: Controls, off: Set<string>, sentence?: Sentence}} Before sentence: where a press changed it */

/** `text`: null where the page chooses the sentence, which is `typed` then; `off`: heads switched off in the model; `pin`
 * and `panel`: the pinned picture and the other view that is open, as in the link; `sampling`: how the next token is drawn,
 * and a word that is asked about; `past`: what was before each change of the model; `slid`: the controls that a slide goes
 * on with.
 * @typedef {import("../link/place.js").Place & {text: string | null, typed: string, look: Look, off: Set<string>,
 *   controls: Controls, pin: string, panel: string | null, sampling: Record<string, string | null>, past: Before[], slid: string}} State
 */

/** A change of the model or of the sentence. `slides`: it goes on with the one before, and is undone as one with it.
 * @typedef {{controls?: Controls, off?: Iterable<string>, sentence?: Partial<Sentence>, slides?: boolean, undoable?: boolean}} Edit
 */

/** @typedef {{type: "open", link: URLSearchParams, text: string | null, picture: Picture | null}
 *   | {type: "arrive", picture: Picture, maps: {n: number, keys: string[]}, isNewest: boolean}
 *   | {type: "fit", picture: Spot, maps: {n: number, keys: string[]}}
 *   | {type: "go", at: Partial<At>, look?: Partial<Look>}
 *   | {type: "set", values: Partial<Pick<State, "look" | "pin" | "panel" | "sampling">>}
 *   | {type: "edit"} & Edit
 *   | {type: "undo"}} Action
 */

/** The answers that have arrived from the server: the picture in focus, with the pin and the sampling that it was asked with, the maps with
 * the run that they are all of, and how far a long text is.
 * @typedef {{picture: Picture, maps: import("../wire/packets.js").Maps | null, mapsOf: string, pinOf: string, samplingOf: string,
 *   progress: {run: string, done: number, isStopped: boolean}}} Cache
 */

const SAMPLING = ["temp", "dice", "word"];
const PLACE = ["at", "pin", "look", "view", "part", ...SAMPLING]; // keys that change what is looked at, and no number of a map
const PANELS = ["heads", "flow", "channels"]; // the other views that there are
const MAX_UNDO = 20; // changes that can be undone

/** @type {State} */
export const FIRST = {
  ...placeOf(null, null),
  ...{ text: null, typed: "", look: parseLook(""), off: new Set(), controls: {}, pin: "" },
  ...{ panel: null, sampling: {}, past: [], slid: "" },
};

// ---- the state

/** The text of the box. @param {State} state */
export const textOf = ({ text, typed }) => text ?? typed;

/** The sentence, and what is looked at in it. @param {State} state @returns {Sentence} */
export const sentenceOf = (state) => ({ ...state.at, text: textOf(state), rowChosen: state.rowChosen });

/** The state after an action. There is no difference to see while nothing is changed. @param {State} state @param {Action} action */
export function reduce(state, action) {
  const next = { ...state, ...step(state, action) };
  if (next.look.difference && !changed(next.controls, next.off).length) next.look = { ...next.look, difference: false };
  return next;
}

/** The changes that an action makes to the state. @param {State} state @param {Action} action @returns {Partial<State>} */
function step(state, action) {
  switch (action.type) {
    case "open":
      return { text: action.text, ...readLink(action.link, action.picture) };
    case "arrive": {
      const { picture, maps, isNewest } = action;
      const look = picture.tile ? singleMapLook(state.look) : state.look;
      return { typed: picture.typed, look, ...(isNewest && arrived(state, picture, maps.n, maps.keys.length)) };
    }
    case "fit":
      return clampPlace(state, action.picture, action.maps.n, action.maps.keys.length);
    case "go": {
      const place = moved(state, action.at);
      const look = { ...state.look, ...action.look };
      if (look.solo) look.solo = `${place.at.layer}.${place.at.head}`; // alone is always the head in focus
      return { ...place, look };
    }
    case "set":
      return action.values;
    case "edit":
      return edit(state, action);
    case "undo": {
      const { sentence = {}, ...before } = state.past.at(-1) ?? {};
      return { ...edit(state, { sentence, undoable: false }), ...before, past: state.past.slice(0, -1) };
    }
  }
}

/** The parameters of a link without the sentence. @param {URLSearchParams} link @param {Picture | null} picture */
const readLink = (link, picture) => ({
  ...placeOf(link.get("at"), picture),
  look: parseLook(link.get("look") ?? ""),
  off: headsOf(link.getAll("off")),
  controls: controlsOf(link),
  pin: link.get("pin") ?? "",
  panel: PANELS.includes(link.get("view")?.split(".")[0] ?? "") ? link.get("view") : null,
  sampling: Object.fromEntries(SAMPLING.map((key) => [key, link.get(key)])),
});

/** @param {State} state @param {Edit} change @returns {Partial<State>} */
function edit(state, { controls = {}, off = state.off, sentence = {}, slides = false, undoable = true }) {
  const { text = state.text, rowChosen = state.rowChosen, ...at } = sentence;
  const isOther = "text" in sentence;
  const slid = Object.keys(controls).join();
  const isStep = undoable && !(slides && slid === state.slid);
  const previous = { controls: state.controls, off: state.off, ...(isOther && { sentence: sentenceOf(state) }) };
  return {
    ...{ text, rowChosen, at: { ...state.at, ...at }, placed: state.placed || "layer" in at },
    controls: { ...state.controls, ...controls },
    off: new Set(off),
    look: isOther && "rowChosen" in sentence ? { ...state.look, keys: [] } : state.look, // keys of the tokens before
    past: isStep ? [...state.past.slice(1 - MAX_UNDO), previous] : state.past,
    slid,
  };
}

// ---- the link, and what the server is asked

/** The link parameters of the state. @param {State} state @returns {import("../link/link.js").Values} */
export function linkOf({ text, at, placed, rowChosen, look, off, controls, pin, panel, sampling }) {
  const place = { at: placed ? writeAt(at, rowChosen) : null, look: writeLook(look) || null };
  const model = { ...controls, off: inOrder(off).map(headName) };
  return { s: text, ...model, ...place, pin: pin || null, view: panel, ...sampling };
}

/** The request parameters: another row, or another way to draw it, makes no other picture.
 * @param {State} state @param {boolean} isLong of a long text the numbers of one row are here
 */
export function valuesOf(state, isLong) {
  const { at, look, placed, rowChosen } = state;
  const place = placed ? writeAt(at, rowChosen && isLong) : null;
  return { ...linkOf(state), view: null, at: place, look: askedOf(look) || null };
}

/** The query of the run alone, wherever in it is looked. @param {URLSearchParams} query */
export const runOf = (query) => omit(query, ...PLACE);

/** The parameters of the next token: how it is drawn, and the word whose probability is shown. @param {URLSearchParams} query */
export const samplingOf = (query) => SAMPLING.map((key) => query.get(key) ?? "").join("\n");

/** Tell whether the numbers of a picture belong to the map in focus. @param {Picture} picture @param {State} state */
export const isOf = (picture, { at, look }) =>
  picture.layer === at.layer && picture.head === at.head && picture.reads === reads(look);

/** Tell whether the numbers of the row in focus of a long text have arrived. @param {State} state @param {Cache} cache */
export const isRowHere = (state, { picture, maps }) =>
  isOf(picture, state) && picture.row === state.at.row && picture.digest === maps?.digest;

/** Tell whether the picture answers everything about the next token. @param {State} state @param {string} sampling that is wanted @param {Cache} cache */
function tellsNext({ look }, sampling, { picture, samplingOf: usedSampling }) {
  if (!picture.next.length) return true;
  return usedSampling === sampling && (picture.tile > 0 || picture.surprise !== null || !look.surprise);
}

/** The next request, or null: all maps, or where they are here the picture in focus alone; of a long text its next
 * layers. Another place in a map asks nothing.
 * @param {State} state @param {URLSearchParams} query of what is to be shown @param {Cache} cache
 * @returns {{route: "maps" | "focus" | "part", query: URLSearchParams} | null}
 */
export function requestFor(state, query, cache) {
  const { picture, maps, mapsOf, pinOf, progress } = cache;
  const { at, look, pin } = state;
  const run = runOf(query);
  const continues = !progress.isStopped && progress.run !== "" && progress.run === run;
  const isHere = maps !== null && mapsOf === run;
  const isTold = () => tellsNext(state, samplingOf(query), cache);
  if (continues || (isHere && picture.tile)) {
    const part = new URLSearchParams(query);
    setParam(part, "part", String(progress.done));
    const isMissing = !isRowHere(state, cache) || !isTold();
    if (isHere && picture.tile && maps.isHere(at.layer) && isMissing) return { route: "focus", query: part };
    return continues ? { route: "part", query: part } : null;
  }
  if (!isHere || !maps.isWhole(at.layer)) return { route: "maps", query };
  const isComplete =
    isOf(picture, state) &&
    picture.digest === maps.digest &&
    (!look.values || picture.values) &&
    (!look.all || picture.kinds.every(({ length }) => length)) &&
    pinOf === pin;
  return isComplete && isTold() ? null : { route: "focus", query };
}
