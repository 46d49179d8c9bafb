// The page of the model: the diagram of its boxes, and the panel of the box in focus at one of four depths.

import { SIDE } from "../base/facts.js";
import { choice, namedPart } from "../base/choice.js";
import { heightLeft } from "../base/curtain.js";
import { contentWidth, div, h, panel, render, setText } from "../base/dom.js";
import { mount } from "../base/mount.js";
import { isolated } from "../base/token_text.js";
import { writeAt } from "../link/look.js";
import { go } from "../link/navigation.js";
import { ControlChips } from "../picture/control_chips.js";
import { groupChoice, headChoice } from "../picture/map_choice.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { SentenceBox } from "../picture/sentence.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { unpack } from "../wire/packets.js";
import { PlaceView } from "../wire/place_view.js";
import { Diagram, makePlay } from "./diagram.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import modelMapCss from "./model_map.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

/** @typedef {import("../base/messages.js").ModelMap} ModelMap */

const OWN = ["s", "box", "depth", ...SIDE];
const DEPTHS = ["story", "numbers", "formula", "code"].map((depth) => /** @type {[string, string]} */ ([depth, depth]));
const LEAST = 430; // pixels of the diagram’s height

/** @extends {PlaceView<ModelMap>} */
export class ModelMapView extends PlaceView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, [choicesCss, listingCss, sheetCss, modelMapCss, stageCss], "model-map");
    this.values = /** @type {Values} */ ({}); // as in the link
    this.box = new SentenceBox(this, (text) => this.change({ s: this.clip(text, "s") }, true));
    this.controls = new ControlChips(this, "Change the model");
    this.foot = new ProjectorBar(this, this.box.element, this.controls);
    this.diagram = new Diagram({ choose: (box) => this.change({ box }), open: () => this.open() });
    this.group = groupChoice(this);
    this.choice = headChoice(this);
    this.depths = choice("Depth", DEPTHS, (depth) => this.change({ depth }));
    this.play = makePlay({ begin: () => this.rewind(), step: () => this.stepOn(), signal: this.lifetime.signal });
    this.blocks = new BlocksPanel();
    this.title = h("h2");
    this.note = h("span", { class: "label" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Token in focus" });
    this.links = h("nav", { class: "links", "aria-label": "Pages that show it" });
    this.summary = h("p", { class: "label foot" });
    const places = div("bar places", this.group.element, ...this.choice.elements);
    const depth = div("bar", namedPart("depth", this.depths.element), this.play);
    this.show(
      div("top", this.box.element, this.noticeList),
      div("controls", this.controls.chips, this.controls.panel),
      places,
      this.diagram.element,
      panel("about", null, [div("titles", this.title, this.note), depth], this.chips, this.blocks.element, this.links),
      this.summary,
    );
  }

  get main() {
    return this.diagram.element;
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.values = { ...Object.fromEntries(OWN.map((key) => [key, link.get(key)])), off: link.getAll("off") };
    this.adoptPlace(link);
    this.values.s = this.clip(link.get("s"), "s");
  }

  /** @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    this.picture = unpack(packed).header;
    this.onUnchanged(query);
    this.choosePlace(this.picture.tokens.length);
  }

  toParams() {
    const { values, at, placed, rowChosen } = this;
    return { ...values, at: placed ? writeAt(at, rowChosen) : null };
  }

  /** @param {URLSearchParams} query */
  route(query) {
    return this.picture && this.pictureOf === this.relevant(query) ? "" : "architecture";
  }

  /** The box in focus, which the picture may lag behind. */
  get focus() {
    const { picture, values, opened } = this;
    const named = opened ? picture.box : String(values.box ?? picture.defaults.box);
    return picture.boxes.some(({ name }) => name === named) ? named : picture.box;
  }

  /** The depth in focus. */
  get depth() {
    return String(this.values.depth ?? this.picture.defaults.depth);
  }

  /** @param {Values} change @param {boolean} [typing] */
  change(change, typing = false) {
    Object.assign(this.values, change);
    this.onChange(typing);
  }

  /** Return from the last box to the first. */
  rewind() {
    const { names, now } = this.diagram;
    if (now === names.at(-1)) this.diagram.step(0);
  }

  /** Move to the next box; return whether there is one. */
  stepOn() {
    const { names, now } = this.diagram;
    const next = names.indexOf(now) + 1;
    if (!this.isHere || next >= names.length) return false;
    this.diagram.step(next);
    return true;
  }

  /** Open the first page that shows the box in focus. */
  open() {
    const [link] = this.picture.links;
    if (link && this.focus === this.picture.box) go(new URL(`./${link[1]}`, document.baseURI));
  }

  draw() {
    const { picture, at } = this;
    const n = picture.tokens.length;
    if (this.waiting && at.row >= n) return;
    this.keepWithin(n);
    this.box.text = String(this.values.s ?? picture.sentence);
    this.box.input.readOnly = "s" in picture.fixed;
    const { focus, depth } = this;
    const { element } = this.diagram;
    const room = Math.max(LEAST, (this.foot.isOn ? this.foot.heightOver(element) : heightLeft(element)) - 44);
    this.diagram.draw(picture, focus, picture.layer, contentWidth(element), room, this.narrow);
    this.group.draw();
    this.choice.draw();
    this.depths.press(depth);
    this.controls.draw();
    this.foot.draw();
    const box = /** @type {import("../base/messages.js").MapBox} */ (
      picture.boxes.find(({ name }) => name === picture.box)
    );
    setText(this.title, box.title);
    setText(this.note, [box.place === "layer" ? `layer ${picture.layer}` : "", box.note].filter(Boolean).join(" · "));
    this.chips.hidden = picture.depth !== "numbers";
    if (!this.chips.hidden) this.drawChips();
    this.blocks.draw(picture.panel, this.theme);
    render(this.links, ...picture.links.map(([text, path]) => ["a", { href: `./${path}` }, `${text} →`]));
    setText(this.summary, `${picture.summary}. ${picture.label}. Layers, heads and tokens are counted from 0.`);
    this.wait(this.route(this.query()) !== "");
    this.say(`${box.title}: ${box.note}`);
    Object.assign(this.element.dataset, { digest: picture.digest, box: picture.box, depth: picture.depth });
  }

  drawChips() {
    const { picture, at } = this;
    const draw = (/** @type {string} */ token, /** @type {number} */ row) => [
      "button.chip",
      { "aria-pressed": row === at.row, onclick: () => this.setCursor({ row }) },
      isolated(token),
    ];
    render(this.chips, ...picture.tokens.map(draw));
  }
}

export const view = mount(ModelMapView);
