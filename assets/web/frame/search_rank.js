// Ranks search results: titles and synonyms before texts, whole words before prefixes, one typo allowed.

const MAX_RESULTS = 6; // per group
const MIN_TYPO_LENGTH = 4; // letters of a word that may have a typo
const MIN_SHARE = 0.05; // of the best score; typos count only if nothing matches exactly
const MIN_INNER_LENGTH = 3; // letters of a match within words
const FILLERS = new Set(
  "a an are can do does for how i in is it my of on the to use what when where which why with".split(" "),
);

/** Normalise a text: lower case and singular, without accents and punctuation. @param {string} text */
export const normalise = (text) =>
  text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/√/g, " sqrt ")
    .replace(/\p{M}+/gu, "")
    .replace(/[^\p{L}\p{N}#]+/gu, " ")
    .replace(/(\p{L}{2}[^\Ws])s\b/gu, "$1")
    .trim();

/** Normalise a query: the words that say what is searched for. @param {string} query */
function normaliseQuery(query) {
  const words = normalise(query).split(" ");
  const telling = words.filter((word) => !FILLERS.has(word));
  return (telling.length ? telling : words).join(" ");
}

/** Return whether one letter is inserted, deleted, replaced or swapped with the next.
 * @param {string} typed @param {string} word */
export function hasOneTypo(typed, word) {
  if (Math.min(typed.length, word.length) < MIN_TYPO_LENGTH || Math.abs(typed.length - word.length) > 1) return false;
  let prefix = 0;
  while (prefix < typed.length && typed[prefix] === word[prefix]) prefix += 1;
  const [left, right] = [typed.slice(prefix), word.slice(prefix)];
  const isSwapped = left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2);
  return isSwapped || [left, left.slice(1)].includes(right.slice(1)) || left.slice(1) === right;
}

/** Score how well a typed word matches a text; 0 = not at all. @param {string} typed @param {string} text normalised */
function fit(typed, text) {
  const words = text.split(" ");
  if (words.includes(typed)) return 10;
  if (words.some((word) => word.startsWith(typed))) return 8;
  if (typed.length >= MIN_INNER_LENGTH && text.includes(typed)) return 4;
  return words.some((word) => hasOneTypo(typed, word)) ? 0.5 : 0;
}

/** Score how well an entry matches; 0 = a typed word is nowhere in it.
 * @param {SearchEntry} entry @param {string} typed normalised */
export function scoreOf({ title, also, text }, typed) {
  const names = [title, ...also].map(normalise);
  const fits = typed
    .split(" ")
    .map((word) =>
      Math.max(
        4 * fit(word, names[0]),
        ...names.slice(1).map((name) => 3 * fit(word, name)),
        fit(word, normalise(text)),
      ),
    );
  if (fits.includes(0)) return 0;
  const mean = fits.reduce((sum, value) => sum + value, 0) / fits.length;
  if (names.includes(typed)) return mean + (names[0] === typed ? 60 : 50);
  return mean + (names.some((name) => name.startsWith(typed)) ? 20 : 0);
}

/** The groups with their best entries, that of the best entry first. @param {SearchGroup[]} groups @param {string} query */
export function search(groups, query) {
  const typed = normaliseQuery(query);
  if (!typed) return [];
  const scores = groups.map(({ entries }) => entries.map((entry) => ({ entry, score: scoreOf(entry, typed) })));
  const minimum = MIN_SHARE * Math.max(0, ...scores.flat().map(({ score }) => score));
  const scored = groups.map((group, index) => {
    const fitting = scores[index].filter(({ score }) => score && score >= minimum);
    const best = fitting.sort((a, b) => b.score - a.score);
    return { group, score: best[0]?.score ?? 0, entries: best.slice(0, MAX_RESULTS).map(({ entry }) => entry) };
  });
  return scored.filter(({ score }) => score).sort((a, b) => b.score - a.score);
}
