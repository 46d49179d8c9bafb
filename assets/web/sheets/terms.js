// @ts-check
// Words and what they mean, each with a link to the page where one meets it.

import { div, fill, h, setAttribute, setText } from "../base/dom.js";

const make = () => div("term", h("dt"), h("dd"), h("dd", { class: "met" }, h("a")));

export const terms = {
  make: () => h("dl", { class: "terms" }),
  /** @param {HTMLElement} element @param {import("../base/messages.js").Block} block */
  update(element, block) {
    element.classList.toggle("long", block.long);
    fill(element, block.rows, make, (line, [name, meaning, path, title]) => {
      const [word, what, met] = line.children;
      setText(word, name);
      setText(what, meaning);
      const link = /** @type {HTMLAnchorElement} */ (met.firstElementChild);
      setText(link, title);
      setAttribute(link, "href", `./${path}`);
    });
  },
};
