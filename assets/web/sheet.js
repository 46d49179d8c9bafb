// A sheet: blocks of text, matrices, tables and bars, drawn in the order in which the server sends them
// (pages/kit/draw/sheet.py). What the visitor edits or presses goes back as numbered events, until the server has heard it.

import { themeOf } from "./colour.js";
import { h, setAttribute, styles } from "./dom.js";
import { MATRICES } from "./matrix.js";
import { PLAIN } from "./blocks.js";

// the colours, buttons and notices are those of the map view
const STYLES = await styles("./view.css", "./sheet.css");
const KINDS = { ...PLAIN, ...MATRICES };

export class Sheet {
  constructor(root) {
    this.root = root;
    this.turn = 0;
    this.heard = 0;
    this.wishes = [];
    this.element = h("div", { class: "view sheet" });
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
  }

  take(data, send) {
    this.send = send;
    this.theme = themeOf(this.root.host ?? this.root);
    setAttribute(this.element, "data-theme", this.theme);
    if (this.visit !== data.visit) Object.assign(this, { visit: data.visit, turn: data.heard, wishes: [] }); // a new session
    this.heard = data.heard;
    this.wishes = this.wishes.filter(({ turn }) => turn > this.heard);
    this.place(this.element, data.blocks);
    Object.assign(this.element.dataset, { turn: this.turn, heard: this.heard });
  }

  /** One element a block. Those of the same kind and name stay, so that focus and half-typed text survive. */
  place(parent, blocks) {
    const keys = blocks.map((block) => `${block.kind} ${block.name ?? block.heading ?? ""}`);
    const wanted = new Set(keys);
    for (const child of [...parent.children]) if (!wanted.has(child.key)) child.remove();
    blocks.forEach((block, at) => {
      let element = parent.children[at];
      if (element?.key !== keys[at]) {
        element = Object.assign(KINDS[block.kind].make(this), { key: keys[at] });
        parent.insertBefore(element, parent.children[at] ?? null);
      }
      KINDS[block.kind].update(element, block, this);
    });
    while (parent.children.length > blocks.length) parent.lastElementChild.remove();
  }

  /** Sends an event, and with it every earlier one that the server has not heard yet; returns its number. */
  tell(event) {
    this.turn += 1;
    this.element.dataset.turn = this.turn;
    this.wishes.push({ turn: this.turn, event });
    this.send({ wishes: this.wishes });
    return this.turn;
  }
}

const sheets = new WeakMap();

export default function sheet({ data, parentElement, setTriggerValue }) {
  if (!sheets.has(parentElement)) sheets.set(parentElement, new Sheet(parentElement));
  sheets.get(parentElement).take(data, (event) => setTriggerValue("act", event));
}
