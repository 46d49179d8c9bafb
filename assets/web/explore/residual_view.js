// The view "residual": what attention and MLP of each layer add to the residual stream of the token in focus.

import { button, contentWidth, div, h, LETTERS, render, setAttribute, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { FoldedTable, makeListing, updateListing } from "../picture/listing.js";
import { counted, quoted, signed, toggle } from "../base/words.js";
import { headName, MLP, writeAt } from "../link/look.js";
import { unpackFloats } from "../wire/packets.js";

/** @typedef {{norms: Float32Array[], cosines: Float32Array[], lengths: Float32Array}} Stream of one token, by part and layer; lengths: before the first layer, and after each */
/** @typedef {import("../base/messages.js").ResidualAnswer & Stream} Answer */

const PARTS = ["attention", "MLP"];
const LEGEND = "a bar is as long as the vector that is added; in brackets its cosine to the stream before it";

export class ResidualView {
  name = "residual";
  title = "Follow a word’s vector";
  about = "what do attention and MLP of each layer add to it?";
  route = "residual";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.gloss = h("p", { class: "gloss" });
    this.status = div("view-status");
    this.readout = div("readout");
    this.grid = new DrawnGrid({
      pick: (layer) => view.setCursor({ layer }),
      hover: (text) => setText(this.readout, text ?? ""),
    });
    this.layerText = h("p", { class: "layer-text" });
    this.lamps = [`.${MLP}`, ""].map((part) => button("", () => this.ablate(part), { class: "ablate" }));
    this.effect = h("p", { class: "effect", role: "status" });
    this.neurons = makeListing();
    this.table = new FoldedTable("Additions as a table", () => view.redraw());
    this.notes = div("label");
    const names = PARTS.map((part) => h("span", { class: part.toLowerCase() }, part));
    const legend = div("label", ...names, LEGEND);
    this.element = div("residual-view", this.gloss, this.status);
    this.element.append(div("scrolls", this.grid.element), div("map-foot", legend, this.readout));
    this.element.append(this.layerText, div("actions", ...this.lamps), this.effect, this.neurons);
    this.element.append(this.table.element, this.notes);
  }

  /** The link parameters of the view, which covers all layers and heads. */
  params() {
    return { at: writeAt({ ...this.view.at, layer: 0, head: 0, key: null }, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    const part = (/** @type {number} */ index) => floats.subarray(index * header.layers, (index + 1) * header.layers);
    const lengths = floats.subarray(4 * header.layers);
    this.answer = { ...header, norms: [part(0), part(1)], cosines: [part(2), part(3)], lengths };
  }

  /** Ablate or restore a part of the layer in focus. @param {string} part ".mlp", or "" for the whole layer */
  ablate(part) {
    const { view } = this;
    view.edit({ off: toggle(view.off, `${view.at.layer}${part}`) });
  }

  draw() {
    const { answer, grid, view } = this;
    const { inks, off, picture } = view;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const layer = Math.min(view.at.layer, answer.layers - 1);
    setText(this.gloss, answer.gloss);
    render(this.status, ...answer.sentences.map((text) => ["p", text]));
    const layout = layOutAdditions(answer, contentWidth(this.element));
    grid.drawGrid(
      {
        name: `What each layer adds to ${quoted(answer.tokens[answer.row])}`,
        how: "layers, and attention or MLP",
        size: [answer.layers, PARTS.length],
        say: ([row, part]) => this.say(answer, row, part),
        boxOf: ([row, part]) => boxOfBar(layout, row, part),
        at: (x, y) => barAt(layout, x, y),
      },
      layout,
      inks,
      [answer, layer, inks.text],
      (context) => drawAdditions(context, layout, answer, inks, layer),
    );
    setText(this.layerText, answer.layerSentences[layer]);
    for (const [index, [part, name, ability]] of /** @type {[string, string, string][]} */ ([
      [`.${MLP}`, "the MLP", "mlps"],
      ["", "all", "layers"],
    ]).entries()) {
      const isOff = off.has(`${layer}${part}`);
      const lamp = this.lamps[index];
      setText(lamp, `${isOff ? "restore" : "ablate"} ${name} of layer ${layer}`);
      setAttribute(lamp, "aria-pressed", isOff);
      lamp.disabled = ability in picture.fixed;
      setAttribute(lamp, "title", picture.fixed[ability] ?? `${headName(`${layer}${part}`)} in the link`);
    }
    setText(this.effect, answer.effect);
    this.drawNeurons(answer.neurons[layer], layer);
    render(this.notes, ...answer.notes.map((text) => ["p", text]));
    if (this.table.isOpen) this.fillTable(answer);
  }

  /** Describe a bar. @param {Answer} answer @param {number} layer @param {number} part */
  say({ norms, cosines, lengths }, layer, part) {
    const name = `layer ${layer}, ${PARTS[part]}`;
    if (!norms[part][layer]) return `${name}: adds nothing`;
    const size = sizeText(norms[part][layer]);
    return `${name}: adds a vector of length ${size}, cosine ${signed(cosines[part][layer])}; the layer meets a stream of length ${sizeText(lengths[layer])}`;
  }

  /** @param {Answer["neurons"][0]} neurons @param {number} layer */
  drawNeurons(neurons, layer) {
    this.neurons.hidden = !neurons.length;
    const caption = `The ${counted(neurons.length, "neuron")} of the MLP of layer ${layer} that add most.`;
    const rows = neurons.map(({ index, activation, norm }) => [String(index), signed(activation), sizeText(norm)]);
    const head = ["neuron", "activation", "length of what it adds"];
    updateListing(this.neurons, { caption, head, rows, marks: [], right: [false, true, true] }, () => {});
  }

  /** @param {Answer} answer */
  fillTable({ layers, norms, cosines, lengths }) {
    const rows = [...Array(layers).keys()].map((layer) => {
      const parts = PARTS.flatMap((_, part) => [sizeText(norms[part][layer]), signed(cosines[part][layer])]);
      return [String(layer), sizeText(lengths[layer]), ...parts];
    });
    this.table.fill(["layer", "stream", "attention adds", "cos", "MLP adds", "cos"], rows);
  }
}

// ---- the drawing: a row for each layer, from the first down; attention to the left of the layer's name, MLP to the right

const [MIDDLE, OUTSIDE] = [64, 96]; // pixels of the layer's name, and of the numbers outside of a bar
const [LEAST_HIGH, MAX_HIGH, HIGH] = [18, 30, 540]; // pixels of a row, and of the drawing

/** A length with three digits. @param {number} value */
export const sizeText = (value) => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

/** @param {Stream & {layers: number}} stream @param {number} width */
export function layOutAdditions({ layers, norms }, width) {
  const high = Math.max(LEAST_HIGH, Math.min(MAX_HIGH, HIGH / layers));
  const largest = Math.max(...norms.flatMap((part) => [...part]), 1e-9);
  const half = Math.max(60, (Math.min(width, 900) - MIDDLE) / 2);
  const top = 1.6 * LETTERS;
  return {
    layers,
    high,
    top,
    half,
    unit: (half - OUTSIDE) / largest,
    width: 2 * half + MIDDLE,
    height: top + layers * high,
  };
}

/** @typedef {ReturnType<typeof layOutAdditions>} Layout */

/** The half row of a part, its bar and its numbers. @param {Layout} layout @param {number} layer @param {number} part */
export function boxOfBar({ top, high, half }, layer, part) {
  return { left: part ? half + MIDDLE : 0, top: top + layer * high, width: half, height: high };
}

/** The layer and the part at a pixel; null outside.
 * @param {Layout} layout @param {number} x @param {number} y @returns {Cell | null} */
export function barAt({ top, high, half, layers }, x, y) {
  const layer = Math.floor((y - top) / high);
  return layer < 0 || layer >= layers ? null : [layer, x < half + MIDDLE / 2 ? 0 : 1];
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Stream} stream @param {Inks} inks
 * @param {number} focus the layer in focus
 */
export function drawAdditions(context, layout, { norms, cosines }, inks, focus) {
  const { layers, high, top, half, unit } = layout;
  context.textBaseline = "middle";
  for (let part = 0; part < PARTS.length; part += 1) {
    const colour = part ? inks.head : inks.key;
    const [inner, side] = part ? [half + MIDDLE, 1] : [half, -1];
    Object.assign(context, {
      fillStyle: colour,
      font: `bold ${LETTERS}px ${inks.sans}`,
      textAlign: part ? "left" : "right",
    });
    context.fillText(PARTS[part], inner, top / 2);
    context.font = `${LETTERS}px ${inks.mono}`;
    for (let layer = 0; layer < layers; layer += 1) {
      const [y, wide] = [top + layer * high, unit * norms[part][layer]];
      context.fillStyle = colour;
      context.fillRect(part ? inner : inner - wide, y + 2, wide, high - 4);
      if (!wide) continue;
      context.fillStyle = layer === focus ? inks.text : inks.muted;
      const text = `${sizeText(norms[part][layer])} (${cosines[part][layer].toFixed(2).replace("-", "−")})`;
      context.fillText(text, inner + side * (wide + 4), y + high / 2);
    }
  }
  context.textAlign = "center";
  for (let layer = 0; layer < layers; layer += 1) {
    const isFocused = layer === focus;
    context.font = `${isFocused ? "bold " : ""}${LETTERS}px ${inks.mono}`;
    context.fillStyle = isFocused ? inks.accent : inks.muted;
    context.fillText(`layer ${layer}`, half + MIDDLE / 2, top + (layer + 0.5) * high);
  }
}
