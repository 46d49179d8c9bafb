// Of a model that reads pictures, in the place of the sentence: the picture as it sees it, over the patches the row in
// focus, and which picture it is. A press on a patch, or on a token of none, chooses its row.

import { areSame, div, h, setAttribute, urlOf } from "../base/dom.js";
import { put } from "../link/link.js";
import { drawChoice, makeChoice } from "../sheets/patches.js";
import { rowOf } from "../wire/packets.js";
import { fillChoice } from "../base/view_base.js";

/** @typedef {import("./explore.js").Explore} Explore */

const OWN = "your own picture";
const LINE =
  "This is attention inside a vision transformer: it cuts the picture into patches, and each row of a map is one patch.";
const HOW =
  "Press a patch, or a token of none, for its row. The darker a patch, the less the row looks at it: √ of the weight, the strongest patch as it is.";

export class SeenPicture {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.own = /** @type {string | null} */ (null); // the name of the visitor's picture, once the script has said it
    this.drawn = /** @type {unknown[]} */ ([]);
    this.askedBy = ""; // the visit whose script was asked for that control
    this.names = h("div", { class: "presets", role: "group", "aria-label": "Pictures" });
    this.image = h("img", { alt: "" });
    this.choice = makeChoice(this.image);
    this.kinds = div("kinds", this.names);
    this.board = h(
      "section",
      { class: "patches board", "aria-label": "Picture" },
      this.choice,
      h("p", { class: "label" }, HOW),
    );
    this.element = div(
      "seen",
      h("h1", {}, "Which patches does each patch look at?"),
      h("p", { class: "label" }, LINE),
      this.kinds,
    );
    this.element.hidden = this.board.hidden = true; // until a picture is drawn
  }

  /** What the script says: another picture of the visitor's was brought. @param {string} own */
  take(own) {
    const isNew = this.own !== null && own !== "" && own !== this.own;
    this.own = own;
    if (isNew) this.choose(own);
  }

  /** Another picture has the same patches: the row stays. @param {string} name */
  choose(name) {
    this.view.model.remember(true);
    this.view.type(name);
  }

  draw() {
    const { view } = this;
    const { picture, maps, at, weights } = view;
    const { patches, presets, typed } = picture;
    this.element.hidden = this.board.hidden = !patches;
    view.box.element.hidden = Boolean(patches);
    view.bar.chips.hidden = Boolean(patches);
    const host = view.root instanceof ShadowRoot ? view.root.host : view.root;
    host.toggleAttribute("data-sees", Boolean(patches)); // the page hides its own question, and shows the control for a file
    const { undo } = view.changes;
    const home = patches ? this.kinds : view.inBox;
    if (undo.parentElement !== home) home.prepend(undo);
    if (!patches) return;
    const place = view.narrow || view.look.all ? this.element : view.allHeads;
    if (this.board.parentElement !== place)
      place.insertBefore(this.board, place === this.element ? null : place.firstChild);
    this.askForFiles();
    const names = this.own ? [...presets, this.own] : presets;
    const texts = names.map((name) => (name === this.own ? OWN : name));
    fillChoice(this.names, texts, names.indexOf(view.text), (which) => this.choose(names[which]));
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries({ model: view.modelName, dev: view.deviceName, s: typed }))
      put(query, key, value);
    setAttribute(this.image, "src", urlOf(`api/seen?${query}`));
    // its numbers are on their way, or drawn already
    if (!weights || !view.matching || areSame(this.drawn, [weights, at.row, texts.length])) return;
    this.drawn = [weights, at.row, texts.length];
    const row = rowOf(weights, at.row, maps.n);
    const { own, columns: across } = patches;
    const name = texts[names.indexOf(typed)] ?? "Picture";
    const most = Math.max(...row.subarray(own)); // of a patch: a token of none often has more than all of them
    const drawn = { name, own, across, tokens: maps.tokens, row: at.row, weights: row, most, inside: [] };
    drawChoice(this.choice, drawn, (token) => view.focus.pickRow(token));
  }

  /** The control for a file comes when a picture is first shown: no other page waits for it. */
  askForFiles() {
    const { visit } = this.view;
    if (!visit || visit === this.askedBy) return;
    this.askedBy = visit;
    this.view.tell({ sees: true });
  }
}
