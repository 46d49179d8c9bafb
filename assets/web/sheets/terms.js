// Words and what they mean, each with a link to the page where one meets it, and the box that searches them.

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

export const search = {
  make: () => h("label", { class: "search" }, h("span"), h("input", { type: "search" }), h("output")),
  /** @param {HTMLElement} element @param {import("../base/messages.js").Block} block */
  update(element, block) {
    const [label, box, count] = /** @type {[Element, HTMLInputElement, Element]} */ (
      /** @type {unknown} */ (element.children)
    );
    setText(label, block.label);
    box.oninput = () => {
      const sheet = /** @type {Element} */ (element.parentElement);
      const wanted = box.value.trim().toLowerCase();
      const terms = /** @type {HTMLElement[]} */ ([...sheet.querySelectorAll(".term")]);
      for (const term of terms) {
        const [name, meaning] = term.children;
        term.hidden = !`${name.textContent} ${meaning.textContent}`.toLowerCase().includes(wanted);
      }
      const panels = /** @type {NodeListOf<HTMLElement>} */ (sheet.querySelectorAll(".panel"));
      for (const panel of panels) panel.hidden = !panel.querySelector(".term:not([hidden])");
      setText(count, wanted && `${terms.filter(({ hidden }) => !hidden).length} of ${terms.length}`);
    };
  },
};
