// The elements of the map view, made once; stage.js fills them.

import { h } from "./dom.js";
import { writeAt } from "./look.js";

export const SCALES = [
  ["root", "√ weight"],
  ["linear", "linear"],
  ["own", "per map"],
];
const KEYS_HELP =
  "Keys: arrows walk heads and cells, Enter enlarges or picks, s shows a head alone, h hides it, o switches it off in the model.";

export const button = (text, onclick, props = {}) => h("button", { type: "button", onclick, ...props }, text);

/** Makes everything that `view` shows, puts it into `root` and leaves the parts that change on `view`. */
export function build(view, root) {
  view.parts = {
    notices: h("div", { class: "notices", role: "status" }),
    presets: h("div", { class: "presets", role: "group", "aria-label": "Sentences to try" }),
    chips: h("div", { class: "chips", role: "group", "aria-label": "Tokens: choose the query in focus" }),
    layers: h("div", { class: "segments", role: "group", "aria-label": "Layer" }),
    modes: h("div", { class: "segments", role: "group", "aria-label": "Map or table" }),
    scales: h("div", { class: "segments", role: "group", "aria-label": "Colour scale" }),
    specials: button("show [CLS] [SEP]", () => view.change({ nospecials: !view.look.nospecials }), { class: "toggle" }),
    sort: button("", () => view.change({ sort: !view.look.sort }), { class: "toggle" }),
    pin: button("pin", () => view.tell({ pin: view.focus?.pin ? "" : writeAt(view.at, true) }), { class: "toggle" }),
    link: button("copy link", () => view.copyLink(), { class: "toggle" }),
    controls: button("mask, positions, …", () => document.querySelector(".st-key-rail")?.scrollIntoView(), {
      class: "jump",
    }),
    everyHead: button("show all heads", () => view.change({ hidden: new Set(), solo: null }), { class: "toggle" }),
    title: h("h2"),
    label: h("span", { class: "label" }),
    sizes: h("span", { class: "sizes" }, h("span", { class: "badge query" }), h("span", { class: "badge key" })),
    solo: button("solo", () => view.toggleSolo(view.at.layer, view.at.head), { class: "toggle" }),
    hide: button("hide", () => view.toggleHidden(view.at.layer, view.at.head), { class: "toggle" }),
    lamp: button("", () => view.toggleOff(view.at.layer, view.at.head), { class: "toggle" }),
    table: h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Weights as a table" }),
    pinTable: h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Pinned weights as a table" }),
    readout: h("div", { class: "readout" }),
    legend: h(
      "div",
      { class: "legend" },
      h("span", { class: "low" }),
      h("span", { class: "ramp" }),
      h("span", { class: "high" }),
      h("span", { class: "law" }),
    ),
    looks: h("div", { class: "looks" }, h("span", { class: "who" }), h("span", { class: "list" })),
    sum: h("p", { class: "sum" }),
    story: h("dl", { class: "story" }),
    pinTitle: h("h2"),
    pinLabel: h("span", { class: "label" }),
    figures: h("div", { class: "figures" }),
    status: h("div", { class: "status" }),
    live: h("div", { class: "aloud", "aria-live": "polite" }),
  };
  const p = view.parts;
  view.modeButtons = [
    button("map", () => view.change({ table: false })),
    button("table", () => view.change({ table: true })),
  ];
  p.modes.append(...view.modeButtons);
  view.scaleButtons = SCALES.map(([scale, text]) => button(text, () => view.change({ scale })));
  p.scales.append(...view.scaleButtons);
  p.story.append(...["query", "key", "value"].flatMap((part) => [h("dt", { class: part }, part), h("dd")]));
  const large = h(
    "section",
    { class: "large panel", "aria-label": "Head in focus" },
    h(
      "header",
      {},
      h("div", { class: "titles" }, p.title, h("div", { class: "under-title" }, p.label, p.sizes)),
      h("div", { class: "actions" }, p.solo, p.hide, p.lamp),
    ),
    h("div", { class: "room" }, view.big.element, p.table),
    h("div", { class: "under" }, p.legend, p.readout),
    p.looks,
    p.sum,
    p.story,
  );
  const pin = h(
    "section",
    { class: "pinned panel", "aria-label": "Pinned picture" },
    h(
      "header",
      {},
      h("div", { class: "titles" }, p.pinTitle, p.pinLabel),
      h(
        "div",
        { class: "actions" },
        button("unpin", () => view.tell({ pin: "" }), { class: "toggle" }),
      ),
    ),
    h("div", { class: "room" }, view.pinned.element, p.pinTable),
  );
  view.element = h(
    "div",
    { class: "view", hidden: "" },
    p.notices,
    p.presets,
    p.chips,
    h(
      "div",
      { class: "bar" },
      p.layers,
      p.modes,
      p.scales,
      p.specials,
      p.sort,
      p.everyHead,
      h("span", { class: "push" }),
      p.controls,
      h("div", { class: "actions" }, p.pin, p.link),
    ),
    h("section", { class: "all-heads", "aria-label": "Heads" }, view.heads.element),
    large,
    pin,
    p.figures,
    h(
      "footer",
      {},
      p.status,
      h(
        "div",
        { class: "help" },
        `Layers, heads and tokens are counted from 0. Attention shows where a head looks, not why the model answers. ${KEYS_HELP}`,
      ),
    ),
    p.live,
  );
  p.chips.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && p.chips.children[[...p.chips.children].indexOf(event.target) + step];
    if (next) next.focus();
  };
  view.room = large.querySelector(".room");
  view.pinRoom = pin.querySelector(".room");
  view.root = root.host ?? root;
  root.append(view.element);
}
