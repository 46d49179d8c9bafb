// The pages of the site, their URLs, and the current one.

/** @typedef {{path: string, group: string, title: string, question: string, line: string, model: boolean, parent: string}} Page parent: path of the page that links to it, "" for a page of the bar */

/** All pages, from headlight/ui/pages.py. @type {Page[]} */
export const PAGES = JSON.parse(document.getElementById("headlight-pages")?.textContent ?? "[]");

/** The URL of a page. @param {string} path */
export const addressOf = (path) => new URL(`./${path}`, new URL("./", location.href)).pathname;

/** The page at a path of the server; the home page if there is none. @param {string} address */
export const pageAt = (address) =>
  PAGES.find(({ path }) => path === address) ?? PAGES.find(({ path }) => !path) ?? PAGES[0];

/** The current page. */
export const pageNow = () => PAGES.find(({ path }) => addressOf(path) === location.pathname) ?? pageAt("");
