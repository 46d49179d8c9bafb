// Share, in the bar: the button and the room of its panel (share_panel.js).

import { button, div, h, setAttribute } from "../base/dom.js";
import { drawPanel } from "./share_panel.js";

/** @typedef {{page: string, address: string, kinds: string[]}} Shared the page's name, its address for other machines or
 * "", and what routes make of its link
 */

const shared = { page: "", address: "", kinds: /** @type {string[]} */ ([]) };
const room = h("section", { class: "share", id: "headlight-share", "aria-label": "Share" });
const opener = /** @type {HTMLButtonElement} */ (
  button("Share", () => openShare(!isOpen()), {
    "aria-expanded": "false",
    "aria-controls": room.id,
    disabled: "", // until the page says what there is
  })
);
/** Its button, then what that opens. */
export const share = div("share-place", opener, room);

const isOpen = () => opener.ariaExpanded === "true";

/** @param {boolean} is */
function openShare(is) {
  setAttribute(opener, "aria-expanded", String(is));
  draw();
}

/** Draws the panel while it is open. */
function draw() {
  if (isOpen()) drawPanel(room, shared);
}
addEventListener("headlight-address", draw);

/** Takes over what the present page has to share. @param {Shared} page */
export function drawShare({ page, address, kinds }) {
  Object.assign(shared, { page, address, kinds });
  opener.disabled = false;
  draw();
}
