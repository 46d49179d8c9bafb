// An answer that comes line by line, each of them JSON.

/** @param {Response} answer @param {(line: any) => void} take what each says */
export async function eachLine(answer, take) {
  if (!answer.ok || !answer.body) throw new Error(await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line));
  }
}
