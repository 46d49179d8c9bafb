// The state of Explore, its reducer, and the next request that the state needs.

import { changed, controlsOf } from "../link/changes.js";
import { setParam, omit } from "../link/link.js";
import { askedOf, headNames, headsOf, singleMapLook, parseLook, reads, writeAt, writeLook } from "../link/look.js";
import { arrived, movePlace, placeOf, clampPlace } from "../link/place.js";

/** @typedef {Spot & {text: string | null, placed: boolean, rowChosen: boolean}} Sentence and the cursor in it */

/** `text`: null while the page chooses the sentence, which is then `sentence`; `off`: ablated heads; `pin`, `panel`: the
 * pinned picture and the open view, as in the link; `sampling`: sampling parameters and a word to look up.
 * @typedef {Cursor & {text: string | null, sentence: string, look: Look, off: Set<string>,
 *   controls: Controls, pin: string, panel: string | null, sampling: Record<string, string | null>}} State
 */

/** A change of the model or of the sentence.
 * @typedef {{controls?: Controls, off?: Iterable<string>, sentence?: Partial<Sentence>}} Edit
 */

/** @typedef {{type: "open", link: URLSearchParams, text: string | null, picture: ExplorePicture | null}
 *   | {type: "arrive", picture: ExplorePicture, maps: {n: number, keys: string[]}, isNewest: boolean}
 *   | {type: "fit", picture: Spot, maps: {n: number, keys: string[]}}
 *   | {type: "go", at: Partial<At>, look?: Partial<Look>}
 *   | {type: "set", values: Partial<Pick<State, "look" | "pin" | "panel" | "sampling">>}
 *   | {type: "edit"} & Edit} Action
 */

/** The responses of the server: the picture in focus with the pin and sampling that it was requested with, the maps
 * with the run that they are complete for, and the progress of a long text.
 * @typedef {{picture: ExplorePicture, maps: Maps | null, mapsOf: string, pinOf: string, samplingOf: string,
 *   progress: {run: string, done: number, isStopped: boolean}}} Cache
 */

const SAMPLING = ["temp", "topk", "topp", "dice", "word"];
const PLACE = ["at", "pin", "look", "view", "part", ...SAMPLING]; // keys that change the focus and no number of a map
const PANELS = ["heads", "flow", "channels", "residual", "lens", "cache"]; // names of the other views

/** @type {State} */
export const FIRST = {
  ...placeOf(null, null),
  ...{ text: null, sentence: "", look: parseLook(""), off: new Set(), controls: {}, pin: "" },
  ...{ panel: null, sampling: {} },
};

/** The text of the sentence field. @param {State} state */
export const textOf = ({ text, sentence }) => text ?? sentence;

/** The state after an action. A difference is off while nothing is changed.
 * @param {State} state @param {Action} action */
export function reduce(state, action) {
  const next = { ...state, ...step(state, action) };
  if (next.look.difference && !changed(next.controls, next.off).length) next.look = { ...next.look, difference: false };
  return next;
}

/** The changes that an action makes to the state.
 * @param {State} state @param {Action} action @returns {Partial<State>} */
function step(state, action) {
  switch (action.type) {
    case "open":
      return { text: action.text, ...readLink(action.link, action.picture) };
    case "arrive": {
      const { picture, maps, isNewest } = action;
      const look = picture.tile ? singleMapLook(state.look) : state.look;
      return { sentence: picture.sentence, look, ...(isNewest && arrived(state, picture, maps.n, maps.keys.length)) };
    }
    case "fit":
      return clampPlace(state, action.picture, action.maps.n, action.maps.keys.length);
    case "go": {
      const place = movePlace(state, action.at);
      const look = { ...state.look, ...action.look };
      if (look.solo) look.solo = `${place.at.layer}.${place.at.head}`; // solo mode follows the head in focus
      return { ...place, look };
    }
    case "set":
      return action.values;
    case "edit":
      return edit(state, action);
  }
}

/** Read the link parameters except the sentence. @param {URLSearchParams} link @param {ExplorePicture | null} picture */
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
function edit(state, { controls = {}, off = state.off, sentence = {} }) {
  const { text = state.text, placed = state.placed, rowChosen = state.rowChosen, ...at } = sentence;
  const isOther = "text" in sentence;
  return {
    ...{ text, rowChosen, at: { ...state.at, ...at }, placed },
    controls: { ...state.controls, ...controls },
    off: new Set(off),
    look: isOther && "rowChosen" in sentence ? { ...state.look, keys: [] } : state.look, // keys of the previous tokens
  };
}

/** The link parameters of the state. @param {State} state @returns {Values} */
export function linkOf({ text, at, placed, rowChosen, look, off, controls, pin, panel, sampling }) {
  const place = { at: placed ? writeAt(at, rowChosen) : null, look: writeLook(look) || null };
  const model = { ...controls, off: headNames(off) };
  return { s: text, ...model, ...place, pin: pin || null, view: panel, ...sampling };
}

/** The request parameters, without the row and display options: they need no new picture.
 * @param {State} state @param {boolean} isLong of a long text only one row is loaded
 */
export function valuesOf(state, isLong) {
  const { at, look, placed, rowChosen } = state;
  const place = placed ? writeAt(at, rowChosen && isLong) : null;
  return { ...linkOf(state), view: null, at: place, look: askedOf(look) || null };
}

/** The query of the run, without the place in it. @param {URLSearchParams} query */
export const runOf = (query) => omit(query, ...PLACE);

/** The parameters of the next token: sampling, and a word to look up. @param {URLSearchParams} query */
export const samplingOf = (query) => SAMPLING.map((key) => query.get(key) ?? "").join("\n");

/** Return whether the weights of a picture belong to the map in focus. @param {ExplorePicture} picture @param {State} state */
export const isOf = (picture, { at, look }) =>
  picture.layer === at.layer && picture.head === at.head && picture.reads === reads(look);

/** Return whether the weights of the row in focus of a long text are here. @param {State} state @param {Cache} cache */
export const isRowHere = (state, { picture, maps }) =>
  isOf(picture, state) && picture.row === state.at.row && picture.digest === maps?.digest;

/** Return whether the picture has everything on the next token.
 * @param {State} state @param {string} sampling the requested parameters @param {Cache} cache */
function tellsNext({ look }, sampling, { picture, samplingOf: usedSampling }) {
  if (!picture.next.length) return true;
  return usedSampling === sampling && (picture.tile > 0 || picture.surprise !== null || !look.surprise);
}

/** The next request, or null: all maps; if they are here only the picture in focus; of a long text its next layers. A
 * new cursor within a map needs none.
 * @param {State} state @param {URLSearchParams} query of the state @param {Cache} cache
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
