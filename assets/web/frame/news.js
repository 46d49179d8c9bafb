// Asks for what has changed, once for each number that the server says is new (pages/kit/draw/canvas.py, rerun_when).

/** The number that was asked for last. */
let asked = "";

/** @param {{data: {number: string}, setTriggerValue: (name: string, value: string) => void}} component */
export function news({ data, setTriggerValue }) {
  if (!data.number || data.number === asked) return;
  asked = data.number;
  setTriggerValue("asked", data.number);
}
