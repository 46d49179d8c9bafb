// What the export writes into each page of the site, and the sentences on what needs a server.

import { pageAt } from "../link/navigation.js";

/** @typedef {import("../frame/pickers.js").Option} Option */
/** @typedef {{version: string, models: Option[], recorded: Option[], start: string,
 * files: Record<string, {file: string, bytes: number}>, answers: string[]}} SiteFacts
 * version: of all files; recorded: models that the picker does not offer; start: the command that starts a server; files: of the models;
 * answers: the recordings
 */

/** @type {SiteFacts} */
export const facts = JSON.parse(document.getElementById("headlight-site")?.textContent ?? "{}");

/** What stands in place of a page that needs a server.
 * @param {string} title of the page @returns {{key: string, blocks: Block[]}[]} */
export const serverSheets = (title) => {
  const text = `${title} computes its pictures with Python. Install Headlight on your computer, start it, and open the page there:`;
  const links = ["lessons", "claims", "", "compare", "masks", "shapes"].map((path) => [pageAt(path).title, path]);
  const blocks = [
    { kind: "text", text },
    { kind: "code", lines: [facts.start], marks: [], file: "" },
    { kind: "text", text: "These pages work here:" },
    { kind: "links", links },
  ];
  return [{ key: "server", blocks: [{ kind: "panel", heading: "This page needs a server", note: "", blocks }] }];
};

/** @param {string} what cannot be shown */
export const needsServer = (what) => `${what} needs a server: install Headlight on your computer, and start it with the command ${facts.start}.`;
