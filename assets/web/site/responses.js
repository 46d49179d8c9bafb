// Responds to the requests of the views on a site without a server: from the recordings, then by the models of this
// browser; everything else is refused with a sentence on what works here.

import { findRecording } from "./recordings.js";
import { localResponse } from "./local_responses.js";
import { models } from "./models.js";
import { facts, needsServer } from "./facts.js";
import { pageNow } from "../link/navigation.js";
import { packParts, parts } from "../wire/packets.js";

const COMPUTED = ["maps", "focus"]; // the routes of Maps
const SILENT = ["qr"]; // what nothing on the page waits for

/** Why this request has no response here. @param {string} route */
function reason(route) {
  const { title } = pageNow();
  if (SILENT.includes(route)) return "";
  if (COMPUTED.includes(route))
    return `This change needs the server. Without one, Maps computes any sentence of its models, with masks, positional encodings, ablated heads and temperature. A server starts with the command ${facts.start}, once Headlight is installed.`;
  if (["pair", "initial", "masks", "entry", "steps"].includes(route))
    return `Without a server, ${title} shows its own examples only; Maps computes any sentence. A server starts with the command ${facts.start}, once Headlight is installed.`;
  return needsServer("This part of the page");
}

/** A recorded response; that of a head of Maps is part of the response with all maps. @param {string} route
 * @param {URLSearchParams} params */
async function find(route, params) {
  const response = await findRecording(route, params);
  if (response || route !== "focus") return response;
  const whole = await findRecording("maps", params);
  return whole && packParts(parts(whole)[0]);
}

/** The key of the text that has no response here; "" if another value has none. @param {string} route @param {URLSearchParams} params */
async function keyOf(route, params) {
  const pairs = [...params].filter(([key]) => ["model", "s"].includes(key));
  const isDefault = await findRecording(route, new URLSearchParams(pairs)).catch(() => null);
  return params.has("s") && !isDefault ? "s" : "";
}

/** Respond to a request of the data API. @param {string} path "api/maps?s=…" @param {RequestInit} [request] */
export async function respond(path, request) {
  const [route, query = ""] = path.replace("api/", "").split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  let sentence = reason(route);
  let key = /** @type {string | null} */ (null);
  let bytes = /** @type {Uint8Array | null} */ (null);
  try {
    bytes = await find(route, params);
    if (!bytes && COMPUTED.includes(route)) bytes = await localResponse(route, params, models);
  } catch (error) {
    const { message, key: unusable = null } = /** @type {Error & {key?: string}} */ (error);
    [sentence, key] = [message, unusable];
  }
  key ??= bytes ? "" : await keyOf(route, params);
  request?.signal?.throwIfAborted();
  if (bytes) return new Response(/** @type {BodyInit} */ (bytes));
  return new Response(sentence, { status: 422, headers: key ? { "Headlight-Key": key } : {} });
}
