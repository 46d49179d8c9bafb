// Asks for what has changed, once for each number that the server says is new (pages/kit/draw/canvas.py, news).

let asked = "";

export default function news({ data, setTriggerValue }) {
  if (!data.number || data.number === asked) return;
  asked = data.number;
  setTriggerValue("asked", asked);
}
