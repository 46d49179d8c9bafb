// Tokens in a sentence or a label: always text, never invisible, and apart from the direction of the text around them.
// mha_core/token_text.py is its counterpart in Python.

const SPACE = /[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/;
const MARK = /[\p{M}\u200c\u200d]/u;
const TAG = /[\u{e0020}-\u{e007f}]/u; // behind a black flag they make one of a region, as England's
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ESCAPES = /(?:<(?:0x|U\+)[0-9A-F]+>)+/g;
const SIGNS = { "\n": "↵", "\t": "⇥" };

/** A token as text with a sign for whatever has no ink: "<U+FE0F>", "↵", "◌ा"; joined signs stay joined. */
export function visibleText(/** @type {unknown} */ token) {
  const text = String(token);
  const isBlank = [...text].every((char) => char in SIGNS || SPACE.test(char));
  let [result, base] = ["", ""];
  for (const char of text) {
    const joins = MARK.test(char) || (base === "🏴" && TAG.test(char));
    if (joins && base) {
      result += char;
      continue;
    }
    const sign = SIGNS[/** @type {"\n"} */ (char)] ?? (isBlank && char === " " ? "␣" : "");
    const isHidden = !sign && (HIDDEN.test(char) || (isBlank && SPACE.test(char)));
    if (isHidden) result += `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
    else result += sign || (joins ? `◌${char}` : char);
    base = sign || isHidden || SPACE.test(char) ? "" : char;
  }
  return result;
}

/** The same, where it neither takes nor changes the direction of what it stands in. @param {unknown} token */
export function isolated(token) {
  const text = visibleText(token);
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text.replace(ESCAPES, "\u2068$&\u2069")}\u2069` : text;
}
