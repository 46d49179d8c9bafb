// @ts-check
// What a file that is taken along is called: "it-animal-no-positions".

const MOST = 60; // letters

/** @param {string} text */
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");

/** What a link changes in the model, in words. @param {URLSearchParams} link */
function changes(link) {
  const [mask, pos, t] = ["mask", "pos", "t"].map((key) => link.get(key));
  const off = link.getAll("off");
  return [
    mask && `${mask} mask`,
    pos && (pos === "none" ? "no positions" : `${pos} positions`),
    t && `temperature ${t}`,
    off.length && (off.length === 1 ? `${off[0]} off` : `${off.length} heads off`),
  ].filter(Boolean);
}

/** The words that the title of a picture quotes, or else the name of its page, then what is changed.
 * @param {string} page @param {string} title @param {URLSearchParams} link
 */
export function fileNameOf(page, title, link) {
  const quoted = [...title.matchAll(/“([^”]+)”/g)].map(([, word]) => plain(word)).filter((word) => word !== "-");
  const shown = quoted.length ? quoted : [`headlight-${page}`];
  return plain([...shown, ...changes(link)].join("-"))
    .slice(0, MOST)
    .replace(/^-+|-+$/g, "");
}
