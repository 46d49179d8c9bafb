// The page of the model: the diagram of its boxes, and the panel of the box in focus at one of four depths.

import { SIDE } from "../base/facts.js";
import { choice, namedPart } from "../base/choice.js";
import { heightLeft } from "../base/curtain.js";
import { contentWidth, div, h, panel, render, setText, span } from "../base/dom.js";
import { mount } from "../base/mount.js";
import { isolated } from "../base/token_text.js";
import { writeAt } from "../link/look.js";
import { go, linkTo } from "../link/navigation.js";
import { ControlChips } from "../picture/control_chips.js";
import { groupChoice, headChoice } from "../picture/map_choice.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { SentenceBox } from "../picture/sentence.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { unpack } from "../wire/packets.js";
import { PlaceView } from "../wire/place_view.js";
import { Diagram } from "./diagram.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import modelMapCss from "./model_map.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

/** @typedef {import("../base/messages.js").ModelMap} ModelMap */

const OWN = ["s", "box", "depth", ...SIDE];
const DEPTHS = ["story", "numbers", "formula", "code"].map((depth) => /** @type {[string, string]} */ ([depth, depth]));
const ROOM = { least: 430, foot: 44 }; // pixels of the diagram’s height, and below it

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
    this.choices = [groupChoice(this), headChoice(this)];
    this.depths = choice("Depth", DEPTHS, (depth) => this.change({ depth }));
    this.blocks = new BlocksPanel();
    this.parts = {
      title: h("h2"),
      note: span("label"),
      chips: h("div", { class: "chips", role: "group", "aria-label": "Token in focus" }),
      links: h("nav", { class: "links", "aria-label": "Pages that show it" }),
      summary: h("p", { class: "label foot" }),
    };
    const { title, note, chips, links, summary } = this.parts;
    const depth = div("bar", namedPart("depth", this.depths.element), this.diagram.makePlay(this.lifetime.signal));
    const places = this.choices.flatMap((part) => ("elements" in part ? part.elements : part.element));
    this.show(
      div("top", this.box.element, this.noticeList),
      div("controls", this.controls.chips, this.controls.panel),
      div("bar places", ...places),
      this.diagram.element,
      panel("about", null, [div("titles", title, note), depth], chips, this.blocks.element, links),
      summary,
    );
  }

  get main() {
    return this.diagram.element;
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.values = { ...Object.fromEntries(OWN.map((key) => [key, link.get(key)])), off: link.getAll("off") };
    this.values.s = this.clip(link.get("s"), "s");
    this.adoptPlace(link);
  }

  /** @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    this.picture = unpack(packed).header;
    this.onUnchanged(query);
    this.choosePlace(this.picture.tokens.length);
  }

  toParams() {
    return { ...this.values, at: this.placed ? writeAt(this.at, this.rowChosen) : null };
  }

  idleKeys() {
    return ["big"];
  }

  /** @param {URLSearchParams} query */
  route(query) {
    return this.picture && this.pictureOf === this.relevant(query) ? "" : "architecture";
  }

  /** The box in focus, which the picture may lag behind. */
  get focus() {
    const { picture, values, opened } = this;
    const name = opened ? picture.box : String(values.box ?? picture.defaults.box);
    return picture.boxes.some((box) => box.name === name) ? name : picture.box;
  }

  /** @param {Values} change @param {boolean} [typing] */
  change(change, typing = false) {
    Object.assign(this.values, change);
    this.onChange(typing);
  }

  /** Open the first page that shows the box in focus. */
  open() {
    const [[, path]] = this.picture.links;
    if (this.focus === this.picture.box) go(linkTo(path));
  }

  draw() {
    const { picture, at, parts, foot } = this;
    if (this.waiting && at.row >= picture.tokens.length) return;
    this.keepWithin(picture.tokens.length);
    this.box.text = String(this.values.s ?? picture.sentence);
    this.box.input.readOnly = "s" in picture.fixed;
    const { element } = this.diagram;
    const left = (foot.isOn ? foot.heightOver(element) : heightLeft(element)) - ROOM.foot;
    const space = { width: contentWidth(element), room: Math.max(ROOM.least, left), narrow: this.narrow };
    if (space.width > 0) this.diagram.draw(picture, this.focus, space);
    for (const part of this.choices) part.draw();
    this.depths.press(String(this.values.depth ?? picture.defaults.depth));
    this.controls.draw();
    foot.draw();
    const [box] = picture.boxes.filter(({ name }) => name === picture.box);
    setText(parts.title, box.title);
    setText(parts.note, [box.place === "layer" ? `layer ${picture.layer}` : "", box.note].filter(Boolean).join(" · "));
    parts.chips.hidden = picture.depth !== "numbers";
    const tokens = parts.chips.hidden ? [] : picture.tokens;
    const drawChip = (/** @type {string} */ token, /** @type {number} */ row) => {
      const props = { "aria-pressed": row === at.row, onclick: () => this.setCursor({ row }) };
      return ["button.chip", props, isolated(token)];
    };
    render(parts.chips, ...tokens.map(drawChip));
    this.blocks.draw(picture.panel, this.theme);
    render(parts.links, ...picture.links.map(([text, path]) => ["a", { href: linkTo(path) }, `${text} →`]));
    setText(parts.summary, `${picture.summary}. ${picture.label}. Layers, heads and tokens are counted from 0.`);
    this.wait(this.route(this.query()) !== "");
    this.say(`${box.title}: ${box.note}`);
    Object.assign(this.element.dataset, { digest: picture.digest, box: picture.box, depth: picture.depth });
  }
}

export const view = mount(ModelMapView);
