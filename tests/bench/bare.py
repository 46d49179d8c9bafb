"""The bare page that the app is measured against: `streamlit run tests/bench/bare.py`.

One text field that is sent with every key, one control, the same pass, and twelve maps on one canvas through one rerun
of the script. `?by=pos` and `?by=t` bring another control in place of the mask. Labels and keys are those of the app.
"""

from __future__ import annotations

import struct
import time

import streamlit as st
import torch

from mha_core import Model, load_model
from pages.kit.picture.sharing import threads_for

LAYER = 3
CHOICES = {"mask": ("none", "causal"), "pos": ("as trained", "none")}
CORE = {"as trained": "trained", "none": "none"}

JS = """
export default function ({ data, parentElement }) {
  const view = parentElement.querySelector(".view");
  if (view.data === data) return;
  view.data = data;
  const bytes = new DataView(data.buffer, data.byteOffset);
  const n = bytes.getUint32(0, true);
  const maps = data.subarray(8);
  const context = view.querySelector("canvas").getContext("2d");
  context.imageSmoothingEnabled = false;
  const map = new OffscreenCanvas(n, n);
  const image = new ImageData(n, n);
  for (let head = 0; head < 12; head += 1) {
    for (let cell = 0; cell < n * n; cell += 1) {
      image.data.fill(maps[head * n * n + cell], 4 * cell, 4 * cell + 3);
      image.data[4 * cell + 3] = 255;
    }
    map.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(map, 200 * (head % 4), 200 * Math.floor(head / 4), 190, 190);
  }
  view.dataset.pass = bytes.getFloat32(4, true);
  view.dataset.digest = 1 + Number(view.dataset.digest ?? 0);
}
"""
HTML = '<div class="view"><canvas width="800" height="600"></canvas></div>'


@st.cache_resource
def model() -> Model:
    return load_model()


def main() -> None:
    text = st.text_input("Sentence", "the animal was tired", live="0ms", key="s")
    by = st.query_params.get("by", "mask")
    degrees, chosen = 1.0, {"mask": "none", "pos": "as trained"}
    if by == "t":
        degrees = st.slider("Softmax temperature", 0.1, 5.0, 1.0, 0.1, key="t")
    elif by == "pos":
        chosen[by] = str(st.selectbox("Position encoding", CHOICES[by], key=by))
    else:
        chosen["mask"] = str(st.segmented_control("Mask", CHOICES["mask"], default="none", required=True, key="mask"))
    torch.set_num_threads(threads_for(len(model().tokenize(text)[1])))  # as the app's pass has
    start = time.perf_counter()
    run = model().run(text, mask=chosen["mask"], position=CORE[chosen["pos"]], temperature=degrees)
    milliseconds = 1000 * (time.perf_counter() - start)
    maps = (run.weights[LAYER] * 255).round().to(torch.uint8).numpy()
    data = struct.pack("<If", maps.shape[-1], milliseconds) + maps.tobytes()
    st.components.v2.component("bare_maps", html=HTML, js=JS)(key="maps", data=data)


main()
