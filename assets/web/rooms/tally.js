// What the votes of a class say: how many chose what in each vote, what the host is told of them, and both as a table.

/** @typedef {Record<string, number>} Tally what was chosen -> how many did */
/** @typedef {{ask: string, options: [string, string][], tallies: Tally[]}} Counted a question, its options by what a vote calls them, its votes */

const TALK = [35, 70]; // % of right answers between which talking to a neighbour teaches

/** @param {Tally} tally */
export const total = (tally) => Object.values(tally).reduce((sum, count) => sum + count, 0);

/** What is said to the host alone when a vote is closed. @param {Tally} tally @param {string | null} right what a right vote is; null where nothing says so */
export function hintOf(tally, right) {
  const all = total(tally);
  if (!all) return "Nobody has voted.";
  if (right === null) return "No rule tells which answer is right.";
  const share = Math.round((100 * (tally[right] ?? 0)) / all);
  const [least, most] = TALK;
  const what =
    share < least
      ? "explain first, then vote again"
      : share > most
        ? "show the answer"
        : "let them discuss, then vote again";
  return `${share} % are right: ${what}.`;
}

/** The letters of a tally, each as often as it was chosen: as hands are counted. @param {Tally} tally */
export const handsOf = (tally) =>
  Object.entries(tally).flatMap(([letter, count]) => /** @type {string[]} */ (Array(count).fill(letter)));

/** A cell of a table in a file: a spreadsheet must not take it for a formula. @param {string | number} value */
const cell = (value) =>
  `"${String(value)
    .replace(/^[=+\-@\t\r]/, "'$&")
    .replaceAll('"', '""')}"`;

/** Every question with its counts, a row for each option. @param {Counted[]} questions */
export function csvOf(questions) {
  const rows = questions.flatMap(({ ask, options, tallies }, at) =>
    options.map(([name, text]) => [at + 1, ask, name, text, ...[0, 1].map((vote) => tallies[vote]?.[name] ?? "")]),
  );
  const head = ["question", "asked", "answer", "text", "first vote", "second vote"];
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** A vote on a cell of a map, "row.key", as a dot. @param {Tally} tally @returns {[number, number, number][]} */
export const dotsOf = (tally) =>
  Object.entries(tally).map(([cell, count]) => {
    const [row, key] = cell.split(".").map(Number);
    return [row, key, count];
  });

/** The votes on the steps of a lesson, by their numbers. @param {{learn: string, tallies: Tally[]}[]} questions @param {string} lesson */
export const stepsOf = (questions, lesson) =>
  Object.fromEntries(
    questions
      .filter(({ learn }) => learn.startsWith(`${lesson}.`) && learn.split(".").length === 2)
      .map(({ learn, tallies }) => [learn.split(".")[1], tallies]),
  );
