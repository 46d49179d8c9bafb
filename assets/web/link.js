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

/** The address with what `session` says and it does not, or says otherwise; null where nothing is missing.
 * @param {string} session a query @param {string[]} known keys that do not count @param {Set<string>} had keys that it had:
 *   what was there and is not is taken back @param {string[]} own keys of which it may say what is older: of two quick
 *   changes, there and back, Streamlit may write the first alone
 */
export function completed(session, known, had, own) {
  const [said, url] = [new URLSearchParams(session), new URL(location.href)];
  const now = url.searchParams;
  const lacks = (/** @type {string} */ key) => !now.has(key) && !had.has(key);
  const isOlder = (/** @type {string} */ key) => now.has(key) && String(said.getAll(key)) !== String(now.getAll(key));
  const missing = [...new Set([...[...said.keys()].filter(lacks), ...own.filter(isOlder)])].filter(
    (key) => !known.includes(key),
  );
  if (!missing.length) return null;
  for (const key of missing) put(now, key, said.getAll(key));
  return url;
}
