// Transformations of the map in focus: the mean over heads, word pieces merged into words, special tokens removed, rows
// renormalised.

import { button, setAttribute } from "../base/dom.js";
import { meanChoice } from "../picture/map_choice.js";
import { meanOf } from "../link/look.js";
import { rowOf, specials } from "../wire/packets.js";
import { counted, number, quoted, total } from "../base/words.js";

/** @typedef {{
 *   tokens: string[], keys: string[], row: number, key: number | null, others: number[], first: number, last: number,
 *   weights: Float32Array | null, ofRow: Float32Array | null, map: Bytes, whole: boolean, isHere: boolean, isWords: boolean,
 * }} Sight the large map: labels of rows and columns, the row and key in focus, further selected keys, numbers of hidden tokens at both ends,
 * weights once they have arrived (of a long text only the row in focus), its bytes, and whether these are complete and current
 */

const WORDS = "adds up the weights on the pieces of a word and averages its rows";
const RENORM = "divides each row by the sum of its visible weights";
const SEVERAL = "clicking a cell adds its column to the selection; so do Shift-click and Shift-Enter";
const ALL = "This would hide every token, so all stay visible.";
const LONG = "a text this long keeps every token";

export class ReadingAids {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    const press = (/** @type {"words" | "nofirst" | "renorm"} */ name) => () =>
      view.setDisplay({ [name]: !view.look[name] });
    this.words = button("merge word pieces", press("words"), { title: WORDS });
    this.first = button("show first token", press("nofirst"));
    this.renorm = button("rescale rows to 1", press("renorm"), { title: RENORM });
    this.adds = false; // a click on the map adds a key, as with Shift
    const turn = () => {
      this.adds = !this.adds;
      view.redraw();
    };
    this.more = button("select several columns", turn, { title: SEVERAL });
    this.means = meanChoice(view, true);
    this.cached = { maps: /** @type {Maps | null} */ (null), layer: -1, map: /** @type {Bytes | null} */ (null) };
    this.buttons = [this.first, this.renorm, this.words, this.more];
  }

  /** Add a key to the selected ones, or remove it. @param {number} key token index */
  add(key) {
    const { at, look } = this.view;
    const now = at.key === null ? look.keys : [at.key, ...look.keys];
    const [first = null, ...others] = now.includes(key) ? now.filter((column) => column !== key) : [key, ...now];
    this.view.setCursor({ row: at.row, key: first }, { keys: others });
  }

  /** Return whether the map is a mean over heads. */
  get isMean() {
    return meanOf(this.view.look) !== "";
  }

  /** The map in focus as bytes; null while they are pending. @returns {Bytes | null} */
  get map() {
    const { maps, at, look } = this.view;
    const mean = meanOf(look);
    if (!mean) return maps.map(at.layer, at.head);
    if (mean !== "mean") return null;
    if (this.cached.maps !== maps || this.cached.layer !== at.layer)
      this.cached = { maps, layer: at.layer, map: meanOfLayer(maps, at.layer) };
    return this.cached.map;
  }

  /** The layer and head of the map in focus. */
  get place() {
    const { maps, at, look } = this.view;
    const mean = meanOf(look);
    if (mean === "meanall") return `mean over the ${counted(maps.layers * maps.heads, "head")} of all layers`;
    if (mean === "meanseen")
      return look.all ? "mean over the visible heads" : `layer ${at.layer}, mean over the visible heads`;
    return `layer ${at.layer}, ${mean ? `mean over ${counted(maps.heads, "head")}` : `head ${at.head}`}`;
  }

  /** The name of the map in focus. */
  get name() {
    const { at } = this.view;
    return this.isMean ? `${this.place[0].toUpperCase()}${this.place.slice(1)}` : `Layer ${at.layer} head ${at.head}`;
  }

  /** Return whether words are merged or special tokens removed. */
  get isOn() {
    return this.view.picture.reading !== null;
  }

  /** @param {boolean} fits whether the weights of the map in focus are here @returns {Sight} */
  visibleMap(fits) {
    const { maps, picture, at, look, matching } = this.view;
    const words = look.words && matching ? picture.reading : null;
    const column = (/** @type {number} */ key) => words?.columnOf[key] ?? key;
    const tokens = words?.rows ?? maps.tokens;
    const keys = maps.columns ? (words?.columns ?? maps.keys) : tokens;
    const weights = fits ? picture.weights : null;
    const [first, last] = picture.tile ? [0, 0] : specials({ tokens, ends: maps.ends, columns: maps.columns }, look);
    const isRead = words !== null || (look.renorm && first + last > 0);
    const map = isRead ? null : this.map;
    const bytes = () => (weights ? picture.bytes() : new Uint8Array(tokens.length * keys.length));
    return {
      tokens,
      keys,
      row: words?.rowOf[at.row] ?? at.row,
      key: at.key === null ? null : column(at.key),
      others: [...new Set(look.keys.filter((key) => key < maps.keys.length).map(column))],
      first,
      last,
      weights,
      ofRow: fits && picture.row === at.row ? picture.ofRow : null,
      map: map ?? { size: tokens.length, bytes: bytes() },
      whole: map ? maps.isWhole(at.layer) : true,
      isHere: map !== null || weights !== null,
      isWords: words !== null,
    };
  }

  /** The first token of a visible row or column. @param {"rowOf" | "columnOf"} side @param {number} index */
  tokenAt(side, index) {
    const { visibleMap, picture } = this.view;
    return visibleMap.isWords ? (picture.reading?.[side].indexOf(index) ?? index) : index;
  }

  /** The column of a token. @param {number | null} token */
  columnOf(token) {
    const { visibleMap, picture } = this.view;
    return token !== null && visibleMap.isWords ? (picture.reading?.columnOf[token] ?? token) : token;
  }

  /** The sentence on the active transformations and the hidden part of the row in focus. */
  get sentence() {
    const { picture, visibleMap, look, maps } = this.view;
    if (picture.tile) return "";
    const [front, back] = look.nospecials ? maps.ends : [0, 0];
    const isAll = !visibleMap.first && !visibleMap.last && !maps.columns && (front || back || look.nofirst);
    return [look.words && picture.reading?.sentence, isAll && ALL, this.leftOut].filter(Boolean).join(" ");
  }

  /** The share of the row in focus that goes to hidden keys. */
  get leftOut() {
    const { picture, visibleMap, look, maps } = this.view;
    const { keys, row, first, last, weights } = visibleMap;
    if ((!first && !last) || !weights) return "";
    const front = keys.slice(0, first).map((key) => (maps.ends[0] ? key : quoted(key)));
    const hidden = [...front, ...keys.slice(keys.length - last)];
    const names = [...new Set(hidden)].join(" and ");
    const clause = `${names}, which ${hidden.length > 1 ? "are" : "is"} hidden`;
    if (row < first || row >= keys.length - last) return `Row ${quoted(visibleMap.tokens[row])} itself is hidden.`;
    const rowWeights = rowOf(weights, row, keys.length);
    const visible = rowWeights.subarray(first, keys.length - last);
    const ends = [...rowWeights.subarray(0, first), ...rowWeights.subarray(keys.length - last)];
    const hiddenShare = look.renorm
      ? (picture.reading?.hiddenShares[row] ?? 0)
      : ends.reduce((sum, weight) => sum + weight, 0);
    const isNone = visible.every((weight) => weight === 0);
    const rest = !look.renorm
      ? `the visible weights sum to ${total(visible)}`
      : isNone
        ? "nothing of it is left"
        : "the rest is divided by its sum";
    return `A weight of ${number(hiddenShare)} of this row is on ${clause}; ${rest}.`;
  }

  draw() {
    const { look, maps, visibleMap, picture } = this.view;
    const isLong = picture.tile > 0;
    for (const press of this.means.buttons.slice(2)) press.disabled = isLong; // a long text loads its maps layer by layer
    this.means.draw();
    setAttribute(this.more, "aria-pressed", this.adds);
    setAttribute(this.words, "aria-pressed", look.words);
    this.words.disabled = isLong;
    setAttribute(this.words, "title", isLong ? LONG : WORDS);
    setAttribute(this.first, "aria-pressed", !look.nofirst);
    this.first.hidden = maps.ends[0] > 0 || maps.columns !== null || isLong;
    setAttribute(this.renorm, "aria-pressed", look.renorm);
    this.renorm.disabled = !look.renorm && !visibleMap.first && !visibleMap.last;
    setAttribute(
      this.renorm,
      "title",
      this.renorm.disabled ? "every row already sums to 1; hide tokens first" : RENORM,
    );
  }
}

/** @param {Maps} maps @param {number} layer @returns {Bytes} */
function meanOfLayer(maps, layer) {
  const headMaps = Array.from({ length: maps.heads }, (_, head) => maps.map(layer, head));
  const [{ size, bytes: cells }] = headMaps;
  const sums = new Float32Array(cells.length);
  for (const { bytes } of headMaps) bytes.forEach((byte, index) => (sums[index] += byte));
  return { size, bytes: Uint8Array.from(sums, (sum) => Math.round(sum / maps.heads)) };
}
