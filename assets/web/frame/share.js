// The Share panel of the bar: the link, its QR code, exports, and how the picture was computed.

import { button, div, fetchRoute, fold, h, makeCopy, render, setAttribute, setText, urlOf } from "../base/dom.js";
import { CALLED } from "../base/facts.js";
import { leftOut, read } from "../link/link.js";
import { isFramed } from "./embedding.js";
import { isSite } from "../link/navigation.js";
import { TakeAlong } from "../files/take_along.js";
import { openRoom, room } from "../rooms/room_line.js";

/** @typedef {{page: string, address: string, kinds: string[], start: string}} Shared page: its name; address: its URL for other
 * machines, or ""; kinds: its export routes; start: the command that serves other machines
 */
/** @typedef {[name: string, lines: string[]]} Fact */
/** @typedef {{facts: Fact[][], code: string}} About facts of each picture; code of all pictures */

const OPEN_ROOM = "Open a room for the class";
const ONLY_HERE = "Only this computer can open the link. For a class, start Headlight with ";

/** The link to the current state at another address of the same page. @param {string} address */
function linkAt(address) {
  const url = new URL(address || location.href);
  url.search = location.search;
  return url.href;
}

/** A sentence in place of a link that would not show the same picture, or "". */
function tooLong() {
  const names = leftOut().map((key) => CALLED[key]);
  const file = shared.kinds.includes("html") ? "the HTML file" : "a file";
  return names.length ? `Too long for a link: ${names.join(" and ")}. Use ${file} instead.` : "";
}

/** Fetch a route's text, or the reason for a failure. @param {string} route @param {URLSearchParams} query */
const fetchText = (route, query) =>
  fetchRoute(`api/${route}?${query}`)
    .then(async (response) => ({ text: await response.text(), isThere: true }))
    .catch(({ message }) => ({ text: message, isThere: false }));

/** A name and its lines. @param {Fact} fact */
const describeFact = ([name, lines]) => [h("dt", {}, name), ...lines.map((line) => h("dd", { dir: "auto" }, line))];

class SharePanel {
  constructor() {
    this.rows = div("rows");
    this.copies = [0, 1].map((row) =>
      makeCopy("copy link", () => this.rows.children[row].children[1].textContent ?? ""),
    );
    this.picture = h("img", { width: 180, height: 180 });
    this.camera = button("", () => this.enlarge(), { class: "camera", title: "full screen", hidden: "" });
    this.camera.append(this.picture);
    this.note = h("p", { role: "status" });
    this.room = button(OPEN_ROOM, () => this.openRoom(), {
      title: "phones join with a code, follow what you show, and vote",
    });
    this.room.hidden = isFramed; // the page around it could lure a host's clicks
    this.take = new TakeAlong({ page: "", routes: [], link: () => this.link });
    this.facts = div("facts");
    this.code = h("code");
    const ontoggle = () => this.tell();
    this.about = fold("How was this computed?", { ontoggle }, this.facts);
    const copy = makeCopy("copy code", () => this.code.textContent ?? "");
    this.snippet = fold("Python code for this picture", { ontoggle }, h("pre", {}, this.code), copy);
    this.notebook = h("a", { download: "headlight.ipynb" }, "The same code as a notebook, .ipynb");
    const tutorial = h("a", { download: "tutorial.ipynb" }, "The tutorial as a notebook, .ipynb");
    tutorial.href = urlOf("tutorial.ipynb").href;
    this.notebooks = h("p", { class: "notebooks" }, this.notebook, tutorial);
    const { rows, camera, note, take, about, snippet, notebooks } = this;
    this.parts = [rows, camera, note, this.room, take.element, about, snippet, notebooks];
    this.pictured = ""; // link of the QR code that is visible or pending
    this.requested = ""; // query of the facts and the code
  }

  get link() {
    return linkAt(shared.address);
  }

  draw() {
    const { page, address, kinds } = shared;
    Object.assign(this.take.place, { page, routes: kinds });
    this.take.list();
    const isOwn = !address || new URL(address).host === location.host;
    const ownLink = [address && isOwn ? "link" : "link for this computer only", ""];
    const links = isOwn ? [ownLink] : [["link for the class", address], ownLink];
    const rows = links.map(([name, ownAddress], row) => {
      this.copies[row].disabled = tooLong() !== "";
      return ["div.link", ["span.name", name], ["code", tooLong() || linkAt(ownAddress)], this.copies[row]];
    });
    render(this.rows, ...rows);
    this.about.hidden = this.snippet.hidden = !kinds.includes("about");
    this.room.hidden = this.notebooks.hidden = isSite;
    this.notebook.hidden = !kinds.includes("ipynb");
    setText(this.room, room.now ? `Room ${room.now.code} is open` : OPEN_ROOM);
    this.room.disabled = room.now !== null;
    this.notebook.href = urlOf(`api/${page}.ipynb?${read()}`).href;
    this.show();
    this.tell();
  }

  /** Show the QR code of the link. */
  async show() {
    const { link } = this;
    if (!shared.address) setText(this.note, ONLY_HERE + shared.start);
    if (tooLong()) this.pictured = "";
    this.camera.hidden ||= tooLong() !== "";
    if (!shared.address || tooLong() || this.pictured === link) return;
    this.pictured = link;
    const { text, isThere } = await fetchText("qr", new URLSearchParams({ to: link }));
    if (this.pictured !== link) return; // the link has changed meanwhile
    if (!isThere) this.pictured = "";
    this.camera.hidden = !isThere;
    this.picture.alt = `QR code of ${link}`;
    if (isThere) this.picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    else this.picture.removeAttribute("src");
    setText(this.note, isThere ? "" : text);
  }

  async openRoom() {
    if (await openRoom()) openShare(false);
    else setText(this.note, room.sentence);
  }

  /** Show the QR code full-screen for the back row; a click or Escape closes it. */
  enlarge() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.camera.requestFullscreen?.();
  }

  async tell() {
    const request = `${shared.page}?${read()}`;
    if (!(this.about.open || this.snippet.open) || this.about.hidden || this.requested === request) return;
    this.requested = request;
    const { text, isThere } = await fetchText(`${shared.page}.about`, read());
    if (this.requested !== request) return;
    if (!isThere) this.requested = "";
    const { facts, code } = /** @type {About} */ (isThere ? JSON.parse(text) : { facts: [], code: "" });
    const lists = facts.map((side) => h("dl", {}, ...side.flatMap(describeFact)));
    this.facts.replaceChildren(...lists, isThere ? "" : text);
    setText(this.code, code);
  }
}

const shared = /** @type {Shared} */ ({ page: "", address: "", kinds: [], start: "" });
const place = h("section", { class: "share", id: "headlight-share", "aria-label": "Share" });
const opener = /** @type {HTMLButtonElement} */ (
  button("Share", () => openShare(!isOpen()), {
    "aria-expanded": "false",
    "aria-controls": place.id,
    disabled: "", // until the page sends its options
  })
);
/** The button, then its panel. */
export const share = div("share-place", opener, place);
let panel = /** @type {SharePanel | null} */ (null); // created when first opened

const isOpen = () => opener.ariaExpanded === "true";

/** @param {boolean} is */
function openShare(is) {
  setAttribute(opener, "aria-expanded", is);
  draw();
}

/** Draw the panel while it is open. */
function draw() {
  if (!isOpen()) return;
  panel ??= new SharePanel();
  if (!place.hasChildNodes()) place.append(...panel.parts);
  panel.draw();
}
addEventListener("headlight-address", draw);

/** Update the panel for the current page. @param {Shared} page */
export function drawShare({ page, address, kinds, start }) {
  Object.assign(shared, { page, address, kinds, start });
  opener.disabled = false;
  draw();
}
