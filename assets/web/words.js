// Sentences and numbers, each computed from the weights that are shown.

/** 0.6397 -> "0.64"; four digits where two would say 0 or 1 of something that is neither. */
export function number(value) {
  const short = value.toFixed(2);
  if (value === 0 || value === 1 || (short !== "0.00" && short !== "1.00")) return short;
  if (value < 0.00005) return "<0.0001";
  return value < 1 && value >= 0.99995 ? ">0.9999" : value.toFixed(4);
}

/** The columns of a row, largest first: [[key, weight], …]. */
export function ranked(row) {
  return Array.from(row, (weight, key) => [key, weight]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** A sum of weights, to two digits: the last digits of a float32 sum are rounding. */
export const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0).toFixed(2);

/** A token inside a sentence, where a comma or an apostrophe would be taken for the sentence's own. */
export const quoted = (token) => `“${token}”`;

/** One line each on what the row in focus makes of query, key and value. */
export function story(tokens, row, weights) {
  const own = quoted(tokens[row]);
  const [[best, weight]] = ranked(weights);
  const winner = quoted(tokens[best]);
  const nobody = weight === 0;
  return [
    ["query", `what ${own} is looking for: its row of the map.`],
    [
      "key",
      nobody
        ? "what each token offers; here none may be looked at."
        : `what each token offers; ${winner} fits this query best.`,
    ],
    [
      "value",
      nobody
        ? "what is handed on; here nothing."
        : `what is handed on; ${(100 * weight).toFixed(0)} % of what ${own} takes in is the value of ${winner}.`,
    ],
  ];
}
