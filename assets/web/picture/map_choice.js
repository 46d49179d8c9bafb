// The choice of the map: the kind of attention, and one head or the mean over several.

import { choice, fillChoice, group, namedPart, numbers } from "../base/choice.js";
import { baseOf } from "../link/model_name.js";
import { choosesMean, meanOf } from "../link/look.js";

/** The kind of attention: encoder, decoder or cross-attention. @param {ApiView} view */
export function groupChoice(view) {
  const kinds = group("Kind of attention");
  const element = namedPart("attention", kinds);
  const choose = (/** @type {number} */ index) => {
    const { groups, model } = view.picture;
    view.chooseGroup(`${baseOf(model)}~${groups[index]}`);
  };
  const draw = () => {
    const { groups, groupNames, group: now } = view.picture;
    element.hidden = groups.length < 2;
    fillChoice(kinds, groupNames, groups.indexOf(now), choose);
  };
  return { element, draw };
}

/** The layer and the head in focus.
 * @param {{picture: {layers: number, heads: number}, at: {layer: number, head: number}, setCursor: (change: {layer?: number, head?: number}) => void}} view */
export function headChoice(view) {
  const [layers, heads] = [group("Layer"), group("Head")];
  const draw = (count = view.picture.heads) => {
    fillChoice(layers, numbers(view.picture.layers), view.at.layer, (layer) => view.setCursor({ layer }), "layer");
    fillChoice(heads, numbers(count), view.at.head, (head) => view.setCursor({ head }), "head");
  };
  return { elements: [namedPart("layer", layers), namedPart("head", heads)], draw };
}

/** The kind of attention, the head in focus, and the mean over several heads.
 * @param {import("../wire/place_view.js").PlaceView} view */
export function mapChoice(view) {
  const parts = [groupChoice(view), headChoice(view), meanChoice(view)];
  const elements = parts.flatMap((part) => ("elements" in part ? part.elements : part.element));
  const draw = () => {
    for (const part of parts) part.draw();
  };
  return { elements, draw };
}

/** @type {[Mean | "", string, string][]} */
const OF = [
  ["", "one head", "the head in focus"],
  ["mean", "mean of heads", "the mean over this layer’s heads, which nn.MultiheadAttention returns by default"],
  ["meanall", "of all layers", "the mean over every head of the model"],
];
const SEEN = "the mean over the heads that are not hidden";

/** A choice between a single head and the mean over several.
 * @param {{look: Look, setDisplay: (change: Partial<Look>) => void}} view @param {boolean} [hides] whether heads can be hidden here
 */
export function meanChoice(view, hides = false) {
  const options = hides ? [...OF, /** @type {typeof OF[0]} */ (["meanseen", "of the visible heads", SEEN])] : OF;
  const choose = (/** @type {Mean | ""} */ mean) => view.setDisplay(choosesMean(view.look, mean));
  const { element, buttons, press } = choice("One head or a mean", options, choose);
  return { element, buttons, draw: () => press(meanOf(view.look)) };
}
