// What a file that is taken along is called: "it-animal-no-positions".

const MOST = 60; // letters

/** What a link changes in the model, in words. @param {URLSearchParams} link */
function changes(link) {
  const [mask, pos, t] = ["mask", "pos", "t"].map((key) => link.get(key));
  const off = link.getAll("off");
  const heads = off.length > 1 ? `${off.length} heads` : off[0];
  const position = pos === "none" ? "no positions" : pos && `${pos} positions`;
  return [mask && `${mask} mask`, position, t && `temperature ${t}`, heads && `${heads} off`].filter(Boolean);
}

/** The words that the title of a picture quotes, or else the name of its page, then what is changed.
 * @param {string} page @param {string} title @param {URLSearchParams} link
 */
export function fileNameOf(page, title, link) {
  const quoted = [...title.matchAll(/“([^”]*[\p{L}\p{N}][^”]*)”/gu)].map(([, word]) => word);
  const words = [...(quoted.length ? quoted : [`headlight ${page}`]), ...changes(link)].join(" ");
  const name = words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  return name.replace(/^-/, "").slice(0, MOST).replace(/-$/, "");
}
