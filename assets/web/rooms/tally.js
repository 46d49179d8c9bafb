// Vote counts of a class per question and round, the hint for the host, and a CSV table.

export const LETTERS = "ABCDEFGH"; // letters of the options
const TALK = [35, 70]; // % of correct answers between which peer discussion helps

/** The hint for the host when a vote is closed.
 * @param {number[]} counts @param {number} right index of the correct option; −1 if unknown */
export function hintOf(counts, right) {
  const voted = counts.reduce((sum, count) => sum + count, 0);
  if (!voted) return "No votes yet.";
  if (right < 0) return `${voted} have voted.`;
  const share = Math.round((100 * counts[right]) / voted);
  const [minimum, maximum] = TALK;
  if (share < minimum) return `${share} % are right. Explain first, then vote again.`;
  if (share > maximum) return `${share} % are right. Show the answer.`;
  return `${share} % are right. Let them discuss, then vote again.`;
}

/** Expand a tally to letters, as hands are counted. @param {number[]} counts */
export const handsOf = (counts) =>
  counts.flatMap((count, index) => /** @type {string[]} */ (Array(count).fill(LETTERS[index])));

/** Escape a CSV cell that a spreadsheet would take for a formula. @param {string | number} value */
const cell = (value) =>
  `"${String(value)
    .replace(/^[=+\-@\t\r]/, "'$&")
    .replaceAll('"', '""')}"`;

/** Write the questions with their counts as CSV, one row per answer. @param {Counted[]} questions */
export function csvOf(questions) {
  const head = ["question", "asked", "answer", "text", "first vote", "second vote"];
  const rows = questions.flatMap(({ text, options, tallies: [first, second] }, number) =>
    options.map((option, index) => [
      number + 1,
      text,
      LETTERS[index],
      option,
      first?.[index] ?? "",
      second?.[index] ?? "",
    ]),
  );
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
