// What the votes of a class say: how many chose what in each vote, what the host is told of them, and both as a table.

/** @typedef {import("../base/messages.js").RoomTally} Tally */
/** @typedef {import("../base/messages.js").RoomAsked & {tallies: Tally[]}} Counted a question and its votes */

export const LETTERS = "ABCDEF"; // of the options
const TALK = [35, 70]; // % of right answers between which talking to a neighbour teaches

/** What is said to the host alone when a vote is closed. @param {Tally} tally @param {number} right the option that is; −1 where nothing says so */
export function hintOf({ voted, counts }, right) {
  if (!voted) return "Nobody has voted.";
  if (right < 0) return `${voted} have voted.`;
  const share = Math.round((100 * counts[right]) / voted);
  const [least, most] = TALK;
  if (share < least) return `${share} % are right: explain first, then vote again.`;
  if (share > most) return `${share} % are right: show the answer.`;
  return `${share} % are right: let them discuss, then vote again.`;
}

/** The letters of a tally, each as often as it was chosen: as hands are counted. @param {Tally} tally */
export const handsOf = ({ counts }) =>
  counts.flatMap((count, at) => /** @type {string[]} */ (Array(count).fill(LETTERS[at])));

/** A cell of a table in a file: a spreadsheet must not take it for a formula. @param {string | number} value */
const cell = (value) =>
  `"${String(value)
    .replace(/^[=+\-@\t\r]/, "'$&")
    .replaceAll('"', '""')}"`;

/** What was chosen in a vote on a map: "row, column" -> how many did. @param {Tally | undefined} tally */
const cells = (tally) => new Map(tally?.dots.map(([row, column, count]) => [`${row}, ${column}`, count]));

/** The rows of a question: what is chosen, its text, and how often it was in each vote. @param {Counted} question */
function rowsOf({ kind, options, tallies }) {
  const votes = [0, 1].map((at) => tallies[at]);
  if (kind !== "cell")
    return options.map((text, at) => [LETTERS[at], text, ...votes.map((vote) => vote?.counts[at] ?? "")]);
  const counts = votes.map(cells);
  const chosen = new Set(counts.flatMap((count) => [...count.keys()]));
  return [...chosen].map((at) => [at, "", ...counts.map((count) => count.get(at) ?? 0)]);
}

/** Every question with its counts, a row for each answer. @param {Counted[]} questions */
export function csvOf(questions) {
  const head = ["question", "asked", "answer", "text", "first vote", "second vote"];
  const rows = questions.flatMap((question, at) => rowsOf(question).map((row) => [at + 1, question.text, ...row]));
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** The votes on the steps of a lesson, by their numbers. @param {Counted[]} questions @param {string} lesson */
export const stepsOf = (questions, lesson) =>
  Object.fromEntries(
    questions
      .filter(({ learn, second }) => learn.startsWith(`${lesson}.`) && !second)
      .map(({ learn, tallies }) => [learn.split(".")[1], tallies.map(({ counts }) => counts)]),
  );
