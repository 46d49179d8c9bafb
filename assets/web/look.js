// What is looked at and how, and its two compact texts in the link (the other side is pages/kit/picture/place.py).

const SWITCHES = ["nospecials", "all", "table", "sort"];

export function parseAt(text) {
  const [layer, head, row = null, key = null] = text.split(".").map(Number);
  return { layer, head, row, key };
}

export function writeAt({ layer, head, row, key }, chosen) {
  const numbers = [layer, head];
  if (chosen) numbers.push(row, ...(key === null ? [] : [key]));
  return numbers.join(".");
}

export function parseLook(text) {
  const words = text ? text.split("_") : [];
  const look = { scale: "root", hidden: new Set(), solo: null };
  for (const name of SWITCHES) look[name] = words.includes(name);
  for (const word of words) {
    if (word === "linear" || word === "own") look.scale = word;
    else if (word.startsWith("hide")) look.hidden = new Set(word.slice(4).split("-"));
    else if (word.startsWith("solo")) look.solo = word.slice(4);
  }
  return look;
}

export function writeLook(look) {
  return [
    ...(look.scale === "root" ? [] : [look.scale]),
    ...SWITCHES.filter((name) => look[name]),
    ...(look.hidden.size ? [`hide${[...look.hidden].sort().join("-")}`] : []),
    ...(look.solo ? [`solo${look.solo}`] : []),
  ].join("_");
}
