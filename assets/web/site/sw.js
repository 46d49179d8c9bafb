// The service worker of a site: keeps its files, so that it works without a network after the first visit. A classic
// script; `headlight export --site` lists the files in files.js. A new export is kept beside the old one and replaces
// it as a whole, when no page of the old one is open.

/** @type {any} */
const worker = self;
worker.importScripts("./files.js");

/** @type {{version: string, index: string, first: string[], rest: string[]}} first: what every page needs; rest: recordings and models */
const { version, index, first, rest } = worker.headlightFiles;
const { scope } = worker.registration; // one origin may have several sites
const PREFIX = `headlight ${scope} `;
const [CACHE, MODELS] = [PREFIX + version, `${PREFIX}models`];
const INDEX = new URL(index, scope).href;
const known = new Set([...first, ...rest].map((name) => new URL(name, scope).href));

/** @param {Cache} cache @param {string} name */
async function add(cache, name) {
  if (!(await cache.match(name))) await cache.add(new Request(name, { cache: "reload" }));
}

const install = async () => {
  const cache = await caches.open(CACHE);
  await Promise.all(first.map((name) => add(cache, name)));
};

const activate = async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.filter((name) => ![CACHE, MODELS].includes(name)).map((name) => caches.delete(name)));
  const models = await caches.open(MODELS);
  const old = (await models.keys()).filter(({ url }) => !known.has(url));
  await Promise.all(old.map((request) => models.delete(request)));
  await worker.clients.claim();
};

/** Keep the given files too, one after the other. @param {string[]} names */
async function keep(names) {
  const cache = await caches.open(CACHE);
  for (const name of names) await add(cache, name);
}

/** @param {string} address without a query @param {Request} request */
async function respond(address, request) {
  for (const name of [CACHE, MODELS]) {
    const response = await (await caches.open(name)).match(address);
    // a navigation refuses what a host redirected, as from x.html to x
    if (response) return response.redirected ? new Response(response.body, { headers: response.headers }) : response;
  }
  return fetch(request);
}

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(install()));
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(activate()));
worker.addEventListener("message", (/** @type {any} */ event) => event.waitUntil(keep(event.data).catch(() => {})));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { origin, pathname } = new URL(event.request.url);
  const address = origin + pathname;
  const file = address === scope ? INDEX : [address, `${address}.html`].find((url) => known.has(url));
  if (event.request.method === "GET" && file) event.respondWith(respond(file, event.request));
});
