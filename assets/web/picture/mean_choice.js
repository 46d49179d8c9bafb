// One head, or the mean over several in its place: a choice wherever a head can be chosen.

import { choosesMean, meanOf } from "../link/look.js";
import { choice } from "../base/view_base.js";

/** @typedef {import("../link/look.js").Look} Look */
/** @typedef {import("../link/look.js").Mean} Mean */

/** @type {[Mean | "", string, string][]} */
const OF = [
  ["", "one head", "the head in focus"],
  ["mean", "mean of heads", "of this layer: the map that nn.MultiheadAttention returns by default"],
  ["meanall", "of all layers", "the mean over every head of the model"],
];
const IN_SIGHT = /** @type {[Mean, string, string]} */ ([
  "meanseen",
  "of those in sight",
  "the mean over the heads that are not removed from view",
]);

/** @param {() => Look} look @param {(change: Partial<Look>) => void} change @param {boolean} [hides] heads can be hidden here */
export function meanChoice(look, change, hides = false) {
  const options = hides ? [...OF, IN_SIGHT] : OF;
  const { element, buttons, press } = choice("One head or a mean", options, (mean) =>
    change(choosesMean(look(), mean)),
  );
  return { element, buttons, draw: () => press(meanOf(look())) };
}
