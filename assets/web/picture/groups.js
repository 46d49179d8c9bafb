// Which kind of attention of a model is shown: its encoder's, its decoder's, or from the one to the other.

import { span } from "../base/dom.js";
import { baseOf } from "../link/model_name.js";
import { fillChoice, group, named } from "../base/view_base.js";

/** What each looks from and at. @type {Record<string, string>} */
const TITLES = {
  encoder: "the text that is read, at itself",
  decoder: "the text that is written, at itself",
  cross: "from the text that is written at the text that is read",
};

export class GroupChoice {
  /** @param {import("../wire/wire_view.js").WireView} view */
  constructor(view) {
    this.view = view;
    this.group = group("Kind of attention");
    this.element = named("attention", this.group);
    this.element.append(span("label"));
  }

  draw() {
    const { groups, groupNames, group: now, model } = this.view.picture;
    this.element.hidden = groups.length < 2;
    fillChoice(this.group, groupNames, groups.indexOf(now), (at) =>
      this.view.chooseGroup(`${baseOf(model)}~${this.view.picture.groups[at]}`),
    );
    [...this.group.children].forEach((press, at) => press.setAttribute("title", TITLES[groups[at]] ?? ""));
  }
}
