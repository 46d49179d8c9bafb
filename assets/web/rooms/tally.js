// Vote counts of a class per question and round, the hint for the host, and a CSV table.

export const LETTERS = "ABCDEFGH"; // letters of the options
const TALK = [35, 70]; // % of correct answers between which peer discussion helps

const votersOf = (/** @type {number[]} */ counts) => counts.reduce((sum, count) => sum + count, 0);
const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;

/** Hake's gain: the part of the possible improvement that the second vote reached, (second − first) / (1 − first) of the
 * shares of correct votes; NaN where it is undefined.
 * @param {number[][]} tallies @param {number} right index of the correct option; −1 if unknown */
function gainOf(tallies, right) {
  const [first, second] = tallies.map((counts) => counts[right] / votersOf(counts));
  return first < 1 ? (second - first) / (1 - first) : NaN;
}

/** The hint for the host when a vote is closed.
 * @param {number[][]} tallies of the first vote and, after it, of the second
 * @param {number} right index of the correct option; −1 if unknown */
export function hintOf(tallies, right) {
  const counts = tallies[tallies.length - 1];
  const voted = votersOf(counts);
  if (!voted) return "No votes yet.";
  if (right < 0) return `${voted} have voted.`;
  if (tallies.length > 1 && votersOf(tallies[0])) {
    const change = tallies.map((round) => percent(round[right] / votersOf(round))).join(", then ");
    const gain = gainOf(tallies, right);
    return gain > 0 ? `${change} are right: ${percent(gain)} of the possible gain.` : `${change} are right: no gain.`;
  }
  const share = Math.round((100 * counts[right]) / voted);
  const [minimum, maximum] = TALK;
  if (share < minimum) return `${share} % are right. Explain first, then vote again.`;
  if (share > maximum) return `${share} % are right. Show the answer.`;
  return `${share} % are right. Let them discuss, then vote again.`;
}

/** Expand a tally to letters, as hands are counted. @param {number[]} counts */
export const handsOf = (counts) =>
  counts.flatMap((count, index) => /** @type {string[]} */ (Array(count).fill(LETTERS[index])));

/** Write a CSV cell; a text that a spreadsheet would take for a formula is escaped. @param {string | number} value */
const cell = (value) =>
  typeof value === "number" ? `"${value}"` : `"${value.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

/** Write the questions with their counts as CSV, one row per answer. @param {Counted[]} questions */
export function csvOf(questions) {
  const head = ["question", "asked", "answer", "text", "first vote", "second vote", "right", "gain"];
  const rows = questions.flatMap(({ text, options, tallies, right = -1 }, number) => {
    const gain = gainOf(tallies, right);
    return options.map((option, index) => [
      number + 1,
      text,
      LETTERS[index],
      option,
      ...[0, 1].map((round) => tallies[round]?.[index] ?? ""),
      right < 0 ? "" : index === right ? "yes" : "no",
      Number.isFinite(gain) ? Number(gain.toFixed(4)) : "",
    ]);
  });
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** The votes on the steps of a lesson, by number. @param {Counted[]} questions @param {string} lesson */
export const stepsOf = (questions, lesson) =>
  Object.fromEntries(
    questions
      .map(({ learn, tallies }) => ({ name: learn.split("."), tallies }))
      .filter(({ name }) => name[0] === lesson && name.length === 2) // skips second questions
      .map(({ name, tallies }) => [name[1], tallies]),
  );
