// The view "residual": what attention and MLP of each layer add to the residual stream of the token in focus.

import { setRovingTabindex } from "../base/choice.js";
import { button, div, h, render, setAttribute, setText } from "../base/dom.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { signed, toggle } from "../base/words.js";
import { MLP, writeAt } from "../link/look.js";
import { unpackFloats } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").ResidualAnswer & {floats: Float32Array}} Answer */

const PARTS = ["attention", "MLP"];
const GLOSS =
  "Each layer does not replace a token’s vector: it adds to it. This running sum is the token’s residual stream. Attention adds what it gathers from other tokens, the MLP what it computes from this token alone.";
const LEGEND =
  "A bar is as long as the vector that is added; in brackets its cosine to the stream before it: near 0 it points in a new direction. Click a layer to see its neurons.";

export class ResidualView {
  name = "residual";
  title = "Follow a word’s vector";
  about = "what do attention and MLP of each layer add to it?";
  route = "residual";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.status = div("view-status");
    this.layers = h("div", { class: "additions", role: "group", "aria-label": "What each layer adds" });
    this.lamps = [`.${MLP}`, ""].map((part) => button("", () => this.ablate(part), { class: "ablate" }));
    this.effect = h("p", { class: "effect", role: "status" });
    this.neurons = makeListing();
    this.notes = div("label");
    this.element = div("residual-view", h("p", { class: "gloss" }, GLOSS), this.status);
    this.element.append(div("additions-head", ...PARTS.map((name) => h("b", { class: name }, name))), this.layers);
    this.element.append(div("label", LEGEND), div("actions", ...this.lamps), this.effect, this.neurons, this.notes);
  }

  /** The link parameters of the view, which covers all layers and heads. */
  params() {
    return { at: writeAt({ ...this.view.at, layer: 0, head: 0, key: null }, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    this.answer = { ...header, floats };
  }

  /** Ablate or restore a part of the layer in focus. @param {string} part ".mlp", or "" for the whole layer */
  ablate(part) {
    const { view } = this;
    view.edit({ off: toggle(view.off, `${view.at.layer}${part}`) });
  }

  draw() {
    const { answer, view } = this;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const layer = Math.min(view.at.layer, answer.layers - 1);
    render(this.status, ...answer.sentences.map((text) => ["p", text]));
    render(this.layers, ...[...Array(answer.layers).keys()].map((number) => this.drawLayer(answer, number, layer)));
    setRovingTabindex(this.layers);
    this.drawLamp(0, `${layer}.${MLP}`, `the MLP of layer ${layer}`, view.picture.fixed.mlps);
    this.drawLamp(1, `${layer}`, `all of layer ${layer}`, view.picture.fixed.layers);
    setText(this.effect, answer.effect);
    const neurons = answer.neurons[layer];
    this.neurons.hidden = !neurons.length;
    const caption = `The ${neurons.length} neurons of the MLP of layer ${layer} that add the longest vectors.`;
    const rows = neurons.map(([index, activation, norm]) => [String(index), signed(activation), sizeText(norm)]);
    const head = ["neuron", "activation", "length of what it adds"];
    updateListing(this.neurons, { caption, head, rows, marks: [], right: [false, true, true] }, () => {});
    render(this.notes, ...answer.notes.map((text) => ["p", text]));
  }

  /** The row of a layer: attention to the left of its name, the MLP to the right.
   * @param {Answer} answer @param {number} layer @param {number} focus */
  drawLayer({ floats, layers }, layer, focus) {
    const largest = floats.subarray(0, 2 * layers).reduce((a, b) => Math.max(a, b), 1e-9);
    const drawPart = (/** @type {number} */ part) => {
      const [norm, cosine] = [floats[part * layers + layer], floats[(2 + part) * layers + layer]];
      const text = norm ? `${sizeText(norm)} (${cosine.toFixed(2).replace("-", "−")})` : "nothing";
      const bar = ["i", { "--share": norm / largest }];
      return ["span", { class: PARTS[part] }, bar, ["span.aloud", ` ${PARTS[part]} adds `], ["span", text]];
    };
    const props = { "aria-pressed": layer === focus, onclick: () => this.view.setCursor({ layer }) };
    return ["button", props, drawPart(0), ["span", `layer ${layer}`], drawPart(1)];
  }

  /** @param {number} index @param {string} part @param {string} name @param {string | undefined} reason it cannot be ablated */
  drawLamp(index, part, name, reason) {
    const [lamp, isOff] = [this.lamps[index], this.view.off.has(part)];
    setText(lamp, `${isOff ? "restore" : "ablate"} ${name}`);
    setAttribute(lamp, "aria-pressed", isOff);
    setAttribute(lamp, "title", reason ?? null);
    lamp.disabled = Boolean(reason);
  }
}

/** A length with three digits. @param {number} value */
const sizeText = (value) => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
