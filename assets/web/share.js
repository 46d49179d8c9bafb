// @ts-check
// The link to what is seen, with a button that copies it, and what another machine needs to open it.

import { button, h, setText } from "./dom.js";
import { TakeAlong } from "./take_along.js";

const SHOWN = 2000; // ms that the button says what it did
const PLACE = "this machine";

/** @typedef {{address: string, query: string, code: string, note: string, page: string, routes: string}} Shared the page's
 * address for other machines, the query behind it, both as a picture for a camera, and what is to be said; each may be
 * empty. Then the page's name, and what its routes make of it
 */

/** The link to what is seen, at another address of the same page. @param {string} address */
function linkAt(address) {
  if (!address) return location.href;
  const url = new URL(address);
  url.search = location.search;
  return url.href;
}

/** @param {string} text @param {HTMLButtonElement} pressed */
async function copy(text, pressed) {
  const name = pressed.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    setText(pressed, "copied");
    pressed.disabled = true;
    setTimeout(() => {
      setText(pressed, name);
      pressed.disabled = false;
    }, SHOWN);
  } catch {
    window.prompt("Copy this link", text); // without a secure context the clipboard is closed
  }
}

/** @param {string} name @param {string} address */
function row(name, address) {
  const link = linkAt(address);
  const code = h("code", {}, link);
  const press = /** @type {HTMLButtonElement} */ (button("copy link", () => copy(linkAt(address), press)));
  press.setAttribute("aria-live", "polite");
  return h("div", { class: "link" }, h("span", { class: "name" }, name), code, press);
}

/** @param {{data: Shared, parentElement: HTMLElement}} component */
export default function share({ data, parentElement }) {
  const { page, routes, address: own } = data;
  const take = new TakeAlong({ page, routes: routes.split(" "), link: () => linkAt(own), code: () => data.code });
  const draw = () => {
    const { address, query, code, note } = data;
    const own = !address || new URL(address).host === location.host;
    const rows = own ? [row(address ? "link" : PLACE, "")] : [row("for the class", address), row(PLACE, "")];
    const picture = code
      ? h("img", { src: code, alt: `QR code of ${address}?${query}`, width: 180, height: 180 })
      : null;
    const said = note ? h("p", {}, note) : null;
    parentElement.replaceChildren(
      h("div", { class: "share" }, ...rows, ...[picture, said].filter((part) => part !== null)),
      take.element,
    );
  };
  draw();
  addEventListener("headlight-address", draw);
  return () => removeEventListener("headlight-address", draw);
}
