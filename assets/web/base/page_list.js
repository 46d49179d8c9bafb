// The pages of the house, their addresses, and which of them is shown.

/** @typedef {{path: string, group: string, title: string, question: string, line: string, model: boolean, parent: string}} Page parent: the path of the page that leads to it, "" where the bar does */

/** All pages, as headlight/ui/pages.py lists them. @type {Page[]} */
export const PAGES = JSON.parse(document.getElementById("headlight-pages")?.textContent ?? "[]");

/** The address of a page. @param {string} path */
export const addressOf = (path) => new URL(`./${path}`, new URL("./", location.href)).pathname;

/** The page at an address behind the server's; the one without an address where there is none. @param {string} address */
export const pageAt = (address) =>
  PAGES.find(({ path }) => path === address) ?? PAGES.find(({ path }) => !path) ?? PAGES[0];

/** The page of the present address. */
export const pageNow = () => PAGES.find(({ path }) => addressOf(path) === location.pathname) ?? pageAt("");
