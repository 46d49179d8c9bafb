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
const range = (/** @type {string} */ codes) =>
  new RegExp(`[${codes.replace(/[\da-f]+/g, "\\u{$&}").replaceAll(" ", "")}]`, "u");
const CHINESE = range("4e00-9fff 3400-4dbf 20000-2a6df 2a700-2b81f 2b920-2ceaf f900-faff 2f800-2fa1f");
const DROPPED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/u;
const ACCENT = /[\p{Mn}\u1734\u{1171e}]/gu;
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~\u166d]/u;
// The tables of `tokenizers` are older than these characters: it leaves them as they are.
const NEWER = range(
  "61d 7fd 890-8e2 9fd-9fe a76 afa-aff b55 c04-c3c c77 c84 d00 d3b-d3c d81 eba ece 180f-1886 1abf-1aeb 1b4e-1b4f " +
    "1b7d-1b7f 1df6-1dfb 2e43-2e5d a82c a8c5 a8ff a9bd 105c9-105e4 10d24-10f89 11070-11074 110c2-110cd 111c9 111cf " +
    "1123e-11241 1133b 11383-1145e 11660-1166c 116b9 1182f-11fff 12ff1-1612f 16d68-16f4f 16fe2-16fe4 1cf00-1cf46 " +
    "1e000-1e6f5 1e944-1e95f",
);

/** Split a text into tokens, special ones included.
 * @param {BrowserModel} model @param {string} text
 * @returns {{tokens: string[], ids: number[], ends: [number, number]}}
 * @throws {Error} with a sentence: no token, or more than the model has positions */
export function tokenize(model, text) {
  if (/\p{Surrogate}/u.test(text)) throw new Error("The text has half a character; type it again.");
  const { tokenizer, ids, sizes, ends } = model;
  const { split, unknown } = tokenizer;
  const pieces = () => (split === "Split" ? text : lower(text)).match(PIECES[split]) ?? [];
  const tokens = PIECES[split] ? pieces().map((piece) => (ids.has(piece) ? piece : unknown)) : wordPieces(model, text);
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
 * @param {string} word @param {Map<string, number>} ids @param {string} unknown */
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
 * @param {string} text */
function words(text) {
  let spaced = "";
  for (const character of text) {
    const isNewer = NEWER.test(character);
    const plain = isNewer ? character : character.normalize("NFD").replace(ACCENT, "").replace(DROPPED, "");
    for (const part of lower(plain)) {
      const isAlone = isNewer ? part === "\u{111c9}" : CHINESE.test(character) || PUNCTUATION.test(part);
      spaced += isAlone ? ` ${part} ` : part;
    }
  }
  return spaced.match(PIECES.WhitespaceSplit) ?? [];
}

/** Lower case of each character by itself: a Σ at the end of a word becomes σ too. @param {string} text */
function lower(text) {
  return Array.from(text, (character) => character.toLowerCase()).join("");
}
