// The choice of the map: the kind of attention, and one head or the mean over several.

import { baseOf } from "../link/model_name.js";
import { choice, fillChoice, group, namedPart } from "../base/view_base.js";
import { choosesMean, meanOf } from "../link/look.js";

/** The kind of attention: encoder, decoder or cross-attention.
 * @param {import("../wire/api_view.js").ApiView} view
 */
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

/** @typedef {import("../link/look.js").Look} Look */
/** @typedef {import("../link/look.js").Mean} Mean */

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
