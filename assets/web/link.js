// @ts-check
// Queries of links: what one says of a key, and where the address and the script do not agree.

/** @param {URLSearchParams} params @param {string} key @param {string[]} values */
export function put(params, key, values) {
  params.delete(key);
  for (const value of values) params.append(key, value);
}

/** A query as one text, but for some keys. @param {URLSearchParams} query @param {...string} keys */
export function without(query, ...keys) {
  const rest = new URLSearchParams(query);
  for (const key of keys) rest.delete(key);
  return String(rest);
}

/** The keys of which the address says something else than `session`; what it never had is no change.
 * @param {string} session a query @param {string[]} known keys that do not count @param {Set<string>} had
 */
export function differing(session, known, had) {
  const [before, now] = [new URLSearchParams(session), new URLSearchParams(location.search)];
  return [...new Set([...before.keys(), ...now.keys()])].filter(
    (key) =>
      !known.includes(key) && (now.has(key) || had.has(key)) && String(before.getAll(key)) !== String(now.getAll(key)),
  );
}

/** Those of some keys of which the address says something, and not what `session` does. @param {string} session @param {string[]} keys */
export function stale(session, keys) {
  const [said, now] = [new URLSearchParams(session), new URLSearchParams(location.search)];
  return keys.filter((key) => now.has(key) && String(said.getAll(key)) !== String(now.getAll(key)));
}

/** The keys that `session` says something of and the address does not. @param {string} session @param {string[]} known */
export function lacking(session, known) {
  const now = new URLSearchParams(location.search);
  return [...new Set(new URLSearchParams(session).keys())].filter((key) => !known.includes(key) && !now.has(key));
}
