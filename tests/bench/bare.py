"""The bare page that the app is measured against: a text field that is sent with every key, one control, the same
pass, and twelve maps on a canvas, drawn by one rerun of the script. `?by=pos` and `?by=t` bring another control.
"""

from __future__ import annotations

import streamlit as st
import torch

from headlight.queue.slots import threads_for
from mha_core import Model, load_model

JS = """
export default function ({ data, parentElement }) {
  const view = parentElement.querySelector(".view");
  if (view.data === data) return;
  view.data = data;
  const n = Math.sqrt(data.length / 12);
  const context = view.querySelector("canvas").getContext("2d");
  context.imageSmoothingEnabled = false;
  const map = new OffscreenCanvas(n, n);
  const image = new ImageData(n, n);
  for (let head = 0; head < 12; head += 1) {
    for (let cell = 0; cell < n * n; cell += 1) {
      image.data.fill(data[head * n * n + cell], 4 * cell, 4 * cell + 3);
      image.data[4 * cell + 3] = 255;
    }
    map.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(map, 200 * (head % 4), 200 * Math.floor(head / 4), 190, 190);
  }
  view.dataset.digest = 1 + Number(view.dataset.digest ?? 0);
}
"""
HTML = '<div class="view"><canvas width="800" height="600"></canvas></div>'


@st.cache_resource
def model() -> Model:
    return load_model()


text = st.text_input("Sentence", "the animal was tired", live="0ms")
by = st.query_params.get("by", "mask")
chosen, degrees = {"mask": "none", "pos": "trained"}, 1.0
if by == "t":
    degrees = st.slider("Temperature", 0.1, 5.0, 1.0, 0.1)
else:
    options = {"mask": ["none", "causal"], "pos": ["trained", "none"]}[by]
    chosen[by] = str(st.segmented_control(by, options, default=options[0], required=True))
torch.set_num_threads(threads_for(len(model().tokenize(text)[1])))  # as the app's pass has
run = model().run(text, mask=chosen["mask"], position=chosen["pos"], temperature=degrees)
maps = (run.weights[3] * 255).round().to(torch.uint8).numpy().tobytes()
st.components.v2.component("bare_maps", html=HTML, js=JS)(key="maps", data=maps)
