// Text to tokens, as the package `tokenizers` does it for MiniLM and for the models that are trained here.

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */

const MAX_WORD = 100; // characters of a word that WordPiece takes apart
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const SPACE = "\\p{White_Space}";
/** How a text is split into the pieces that have a token each. @type {Record<string, RegExp>} */
const PIECES = {
  Split: /./gsu,
  Whitespace: new RegExp(`[${WORD}]+|[^${WORD}${SPACE}]+`, "gu"),
  WhitespaceSplit: new RegExp(`[^${SPACE}]+`, "gu"),
};
const CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;
const DROPPED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/u;
const ACCENT = /[\p{Mn}\u1734\u{1171e}]/gu;
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~\u166d]/u;
// The tables of `tokenizers` are older than these characters: it leaves them as they are.
const NEWER = new RegExp(
  "[\\u061d\\u07fd\\u0890-\\u08e2\\u09fd-\\u09fe\\u0a76\\u0afa-\\u0aff\\u0b55\\u0c04-\\u0c3c\\u0c77\\u0c84\\u0d00" +
    "\\u0d3b-\\u0d3c\\u0d81\\u0eba\\u0ece\\u180f-\\u1886\\u1abf-\\u1aeb\\u1b4e-\\u1b4f\\u1b7d-\\u1b7f\\u1df6-\\u1dfb" +
    "\\u2e43-\\u2e5d\\ua82c\\ua8c5\\ua8ff\\ua9bd\\u{105c9}-\\u{105e4}\\u{10d24}-\\u{10f89}\\u{11070}-\\u{11074}" +
    "\\u{110c2}-\\u{110cd}\\u{111c9}\\u{111cf}\\u{1123e}-\\u{11241}\\u{1133b}\\u{11383}-\\u{1145e}\\u{11660}-\\u{1166c}" +
    "\\u{116b9}\\u{1182f}-\\u{11fff}\\u{12ff1}-\\u{1612f}\\u{16d68}-\\u{16f4f}\\u{16fe2}-\\u{16fe4}" +
    "\\u{1cf00}-\\u{1cf46}\\u{1e000}-\\u{1e6f5}\\u{1e944}-\\u{1e95f}]",
  "u",
);

/** Split a text into tokens, special ones included.
 * @param {BrowserModel} model @param {string} text
 * @returns {{tokens: string[], ids: number[], ends: [number, number]}}
 * @throws {Error} with a sentence: no token, or more than the model has positions
 */
export function tokenize(model, text) {
  if (/\p{Surrogate}/u.test(text)) throw new Error("The text has half a character; type it again.");
  const { tokenizer, ids, sizes, ends } = model;
  const tokens = tokenizer.split === "BertPreTokenizer" ? wordPieces(model, text) : pieces(tokenizer, ids, text);
  if (!tokens.length) {
    throw new Error("the text has no token, and this model adds none of its own; type at least one word");
  }
  const [limit, got] = [sizes.max_len, tokens.length];
  if (got > limit) {
    const words = Math.ceil(0.75 * (got - limit));
    const counts = `the text has ${got} tokens, special tokens included; the model can read ${limit}`;
    throw new Error(`${counts}: remove about ${words} words`);
  }
  return { tokens, ids: tokens.map((token) => ids.get(token) ?? 0), ends };
}

/** Pieces of the text that are in the vocabulary; others are its token for what is not known.
 * @param {BrowserModel["tokenizer"]} tokenizer @param {Map<string, number>} ids @param {string} text
 */
function pieces({ split, unknown }, ids, text) {
  const found = (split === "Split" ? text : lower(text)).match(PIECES[split]) ?? [];
  return [...found].map((piece) => (ids.has(piece) ? piece : unknown));
}

/** @param {BrowserModel} model @param {string} text */
function wordPieces({ tokenizer, ids }, text) {
  // what is written like a special token is that token
  const special = new RegExp(`(${tokenizer.special.map((token) => token.replace(/[[\]]/g, "\\$&")).join("|")})`);
  const tokens = text.split(special).flatMap((part, place) => {
    if (place % 2) return [part];
    return words(part).flatMap((word) => wordPiece(word, ids, tokenizer.unknown));
  });
  return ["[CLS]", ...tokens, "[SEP]"];
}

/** The longest token at the start of a word, then the longest "##…" behind it, and so on.
 * @param {string} word @param {Map<string, number>} ids @param {string} unknown
 */
function wordPiece(word, ids, unknown) {
  const characters = [...word];
  if (characters.length > MAX_WORD) return [unknown];
  const tokens = [];
  for (let start = 0; start < characters.length; ) {
    let end = characters.length;
    const piece = () => (start ? "##" : "") + characters.slice(start, end).join("");
    while (end > start && !ids.has(piece())) end--;
    if (end === start) return [unknown];
    tokens.push(piece());
    start = end;
  }
  return tokens;
}

/** Words of a text: without control characters and accents, lower case, each sign and Chinese character by itself.
 * @param {string} text
 */
function words(text) {
  let clean = "";
  for (const character of text) {
    if (NEWER.test(character)) clean += character;
    else if (!DROPPED.test(character)) clean += CHINESE.test(character) ? ` ${character} ` : character;
  }
  const plain = clean.split(new RegExp(`(${NEWER.source})`, "u"));
  const folded = plain.map((part, place) => (place % 2 ? part : part.normalize("NFD").replace(ACCENT, "")));
  let spaced = "";
  for (const character of lower(folded.join(""))) {
    const isSign = character === "\u{111c9}" || (PUNCTUATION.test(character) && !NEWER.test(character));
    spaced += isSign ? ` ${character} ` : character;
  }
  return spaced.match(PIECES.WhitespaceSplit) ?? [];
}

/** Lower case of each character by itself: a Σ at the end of a word becomes σ too. @param {string} text */
function lower(text) {
  return Array.from(text, (character) => character.toLowerCase()).join("");
}
