// What heads are measured on: the sentence, random tokens, our text collection, or the visitor's own.

import { button, div, h, setText, span } from "../base/dom.js";
import { CollectionRun, readCollection, sentencesOf } from "./text_collection.js";
import { choice } from "../base/view_base.js";
import { parts } from "../wire/packets.js";
import { Wire } from "../wire/wire.js";

/** @typedef {import("./text_collection.js").Collection} Collection */

export const OWN = "file"; // no link says it: the file is the visitor's

export class HeadSources {
  /** @param {import("./heads_view.js").HeadsView} of */
  constructor(of) {
    const { view } = of;
    this.of = of;
    this.view = view;
    this.on = "";
    this.refusal = ""; // why there is no collection
    this.held = ""; // whose collection is here
    const hears = {
      take: (bytes) => this.begin("ours", sentencesOf(new TextDecoder().decode(bytes))),
      refuse: (sentence) => this.begin("ours", sentence),
    };
    this.ours = new Wire(hears, view.here.signal);
    this.texts = new CollectionRun(view, (bytes) => of.unpack(parts(bytes)[0]));
    const sources = /** @type {[string, string, string?][]} */ ([
      ["", "this sentence"],
      [
        "random",
        "random tokens, twice",
        "a text without meaning, twice: what a head knows of the second half it copied from the first",
      ],
      ["ours", "our sentences", "from books in the public domain"],
      [
        OWN,
        "a text file …",
        "one sentence a line; each is computed as if you had typed it, the file stays in this browser",
      ],
    ]);
    this.file = h("input", { type: "file", accept: ".txt,text/plain", hidden: "", onchange: () => this.read() });
    this.choices = choice("Measured on", sources, (on) => this.press(on));
    this.stops = button("Stop", () => this.texts.stop());
    this.goesOn = button("Go on", () => this.texts.goOn());
    this.said = h("p", { class: "label", role: "status" });
    const row = div("actions", span("label", "Measured on"), this.choices.element, this.file, this.stops, this.goesOn);
    this.element = div("head-sources", row, this.said);
  }

  /** True where sentence after sentence is measured. */
  get isCollection() {
    return this.on === "ours" || this.on === OWN;
  }

  /** @param {string} on */
  press(on) {
    if (on === OWN) return this.file.click();
    this.refusal = ""; // it was of another
    this.ours.stop(); // asked for again, if it was refused
    return this.of.measureOn(on);
  }

  async read() {
    const [file] = this.file.files ?? [];
    const found = file && (await readCollection(file));
    this.file.value = ""; // so that the same one can be chosen again
    if (found) this.begin(OWN, found);
    if (found && typeof found !== "string") this.of.measureOn(OWN);
  }

  /** @param {string} whose @param {Collection | string} found or why there is none: what was before stays */
  begin(whose, found) {
    this.refusal = typeof found === "string" ? found : "";
    if (typeof found !== "string") {
      this.ours.stop(); // asked for again, if others have taken their place
      this.held = whose;
      this.texts.begin(found);
    }
    this.view.redraw();
  }

  close() {
    this.ours.stop();
    if (this.texts.isOn) this.texts.stop();
  }

  /** Our sentences come when they are first wanted; what is measured follows the run. */
  follow() {
    if (!this.isCollection) return this.close();
    if (this.on === this.held) this.texts.follow();
    else if (this.on === "ours") this.ours.ask("sentences", new URLSearchParams(), this.view.visit);
  }

  /** @param {string} said of what is no collection */
  draw(said) {
    const { texts, isCollection } = this;
    this.choices.press(this.on);
    this.stops.hidden = !texts.isOn;
    this.goesOn.hidden = texts.isOn || !isCollection || !texts.isLeft;
    setText(this.said, [this.refusal, isCollection ? texts.said : said].filter(Boolean).join(" "));
  }
}
