// @ts-check
// Asks for what has changed, once for each number that the server says is new (pages/kit/draw/canvas.py, news).

import { onceStaying } from "./leaving.js";

/** The number that was asked for last. */
let asked = "";

/** @param {{data: {number: string}, parentElement: HTMLElement, setTriggerValue: (name: string, value: string) => void}} component */
export default function news({ data, parentElement, setTriggerValue }) {
  if (!data.number || data.number === asked) return;
  asked = data.number;
  onceStaying(parentElement, () => setTriggerValue("asked", data.number));
}
