// The written rule of a mask with one key more or less that nobody but itself may look at: its parts `unseen`. The other
// side is pages/kit/picture/rules.py.

const UNSEEN = "unseen";

/** The parts of a rule: joined by & inside, by | outside. @param {string} rule */
const termsOf = (rule) => rule.split("|").map((term) => term.split("&").map((part) => part.replace(/\s/g, "")));

/** The keys that a term takes out. @param {string[]} term */
const placesOf = (term) =>
  term.flatMap((part) => {
    const [name, ...places] = part.split(":");
    return name === UNSEEN ? places.map(Number) : [];
  });

/** A rule whose every term takes out these keys and no other. @param {string} rule @param {Set<number>} places */
function withPlaces(rule, places) {
  const sorted = [...places].sort((a, b) => a - b);
  const own = sorted.length ? [[UNSEEN, ...sorted].join(":")] : [];
  const terms = termsOf(rule).map((term) => {
    const rest = term.filter((part) => part !== "none" && part.split(":")[0] !== UNSEEN);
    return [...rest, ...own].join(" & ") || "none";
  });
  return terms.includes("none") ? "none" : [...new Set(terms)].join(" | ");
}

/** The keys that every term of a rule takes out. @param {string} rule */
export function unseenOf(rule) {
  const [first, ...others] = termsOf(rule).map(placesOf);
  return new Set(first.filter((place) => others.every((own) => own.includes(place))));
}

/** The rule with that key out, or where it is out already, in again. @param {string} rule @param {number} place */
export function toggledUnseen(rule, place) {
  const places = unseenOf(rule);
  if (!places.delete(place)) places.add(place);
  return withPlaces(rule, places);
}

/** A rule that takes out the same keys and nothing else. @param {string} rule */
export const onlyUnseen = (rule) => withPlaces("none", unseenOf(rule));

/** The rule with no key out. @param {string} rule */
export const withoutUnseen = (rule) => withPlaces(rule, new Set());
