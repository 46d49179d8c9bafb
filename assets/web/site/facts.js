// What the export writes into each page of the site, and the sentences on what needs a server.

/** @typedef {{version: string, models: import("../frame/pickers.js").Option[], start: string, sizes: Record<string, number>}} SiteFacts
 * version: of all files; start: the command that starts a server; sizes: model -> bytes of its file
 */

/** @type {SiteFacts} */
export const facts = JSON.parse(document.getElementById("headlight-site")?.textContent ?? "{}");

/** @param {string} title of a page */
export const needsServer = (title) =>
  `${title} computes with Python, which this site has not. Start Headlight on a computer with ${facts.start}.`;
