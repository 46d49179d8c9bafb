// The four things that one can change, each a tile that opens a small panel with pictures of the choices.

import { Choices } from "../picture/choices.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { MASKS } from "../base/facts.js";
import { FindHeads } from "./find_heads.js";
import { isAcross } from "../picture/heads_order.js";
import { bringUnderBar } from "../base/view_base.js";
import { icon } from "../picture/icons.js";

/** @typedef {import("./explore.js").Explore} Explore */

/** @extends {Choices<Explore>} */
export class ChangeTiles extends Choices {
  /** @param {Explore} view */
  constructor(view) {
    super(view, view.model, "", MASKS);
    this.open = "";
    this.above = /** @type {Element | null} */ (null); // what was brought into sight above the sheet
    this.masks.classList.add("pictures");
    this.finder = new FindHeads(view);
    this.inside.mask.append(this.makeLink());
    this.inside.off.append(this.finder.element);
    const made = [
      this.makeTile("mask", "Hide words"),
      this.makeTile("pos", "Take the order away"),
      this.makeTile("off", "Switch heads off"),
      this.makeTile("t", "Sharpen or blur"),
    ];
    this.tiles = made;
    this.element = h(
      "div",
      { class: "changes", role: "group", "aria-label": "Change something" },
      ...made.map(({ element }) => element),
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.open) this.leave();
    });
    const { signal } = view.here;
    addEventListener("pointerdown", (event) => !view.narrow && this.isOutside(event) && this.toggle(""), { signal });
    addEventListener("click", (event) => this.tapOutside(event), { signal, capture: true });
  }

  /** @param {Event} event */
  isOutside(event) {
    return this.open !== "" && !event.composedPath().includes(this.element);
  }

  /** On a phone a tap beside the sheet closes it and does nothing else; the chips above it take a change back.
   * @param {MouseEvent} event
   */
  tapOutside(event) {
    const { view } = this;
    const path = event.composedPath();
    if (!view.narrow || !event.isTrusted || !this.isOutside(event) || path.includes(view.changes.element)) return;
    this.toggle("");
    if (!path.includes(view.element)) return; // the bar leads on
    event.stopPropagation();
    event.preventDefault();
  }

  /** @param {"mask" | "pos" | "off" | "t"} key @param {string} name */
  makeTile(key, name) {
    const now = span("now");
    const opener = button("", () => this.toggle(this.open === key ? "" : key), {
      class: "change",
      "aria-expanded": "false",
    });
    opener.append(icon(key), span("name", name), now);
    const close = button("×", () => this.leave(), { class: "close", "aria-label": `close: ${name}` });
    const head = div("sheet-head", h("h3", {}, name), close);
    const panel = h("div", { class: "panel choices-panel", role: "group", "aria-label": name, hidden: "" });
    panel.append(head, this.inside[key]);
    return { key, opener, now, panel, element: div("change-tile", opener, panel) };
  }

  /** Opens one, or none. @param {string} key */
  toggle(key) {
    this.open = key;
    this.above = null;
    this.view.redraw();
  }

  /** Closes what is open; the focus goes back to what opened it. */
  leave() {
    const tile = this.tiles.find(({ key }) => key === this.open);
    this.toggle("");
    tile?.opener.focus();
  }

  /** On a phone the choices are a sheet over the page: what they change stays in sight above it. */
  keepAbove() {
    const { changes, focus, narrow } = this.view;
    const first = changes.element.hidden ? focus.element : changes.element;
    if (!narrow || !this.open || this.above === first) return;
    this.above = first;
    bringUnderBar(first);
  }

  /** The way to the page of masks, with what is seen here. */
  makeLink() {
    const link = h("a", { class: "page-link", href: "./masks" }, "Masks");
    for (const kind of ["pointerdown", "focus"])
      link.addEventListener(kind, () => setAttribute(link, "href", `./masks${new URL(this.view.address).search}`));
    return h("p", { class: "label" }, "Paint a mask cell by cell, or join several, on ", link, ".");
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { view, open } = this;
    const { mask, pos, t } = view.model.controls;
    const total = view.maps.layers * view.maps.heads;
    const said = {
      mask: mask && mask !== "none" ? `mask: ${mask}` : "all words see all words",
      pos: `positions: ${pos ?? "as trained"}`,
      off: `${total - view.off.size} of ${total} on`,
      t: `temperature ${t ?? "1"}`,
    };
    const touched = {
      mask: mask && mask !== "none",
      pos: pos && pos !== "as trained",
      off: view.off.size,
      t: t && Number(t) !== 1,
    };
    for (const { key, opener, now, panel, element } of this.tiles) {
      setText(now, said[key]);
      setAttribute(opener, "aria-expanded", String(key === open));
      setAttribute(element, "data-changed", touched[key] ? "" : null);
      panel.hidden = key !== open;
    }
    this.lamps.hidden = isAcross(view.maps); // of so many the few that matter are found by what they do
    if (open === "off") this.finder.draw();
    this.fill(open, inks, view.maps);
    this.keepAbove();
  }
}
