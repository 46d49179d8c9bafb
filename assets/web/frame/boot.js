// Lets Streamlit's own files wait until the first picture is drawn, or does not come: they are a hundred, and would stand
// in its way; and tells Streamlit where its server begins, which below a page's own address it would look for in vain first.
// Before either it reads how this browser is to draw, for all that draws. A classic script without imports, so that nothing
// can keep it from running.

{
  /** @type {any} */ (window).__streamlit = { BACKEND_BASE_URL: new URL("./", location.href).href };
  const stored = (/** @type {string} */ key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // the browser keeps nothing
    }
  };
  const { dataset } = document.documentElement;
  const prefersContrast = matchMedia("(prefers-contrast: more)").matches;
  if ((stored("headlight-contrast") ?? `${prefersContrast}`) === "true") dataset.contrast = "strong";
  if (stored("headlight-hatch") === "false") dataset.hatch = "none";
  const MAX_WAIT_MS = 600; // ms
  const release = () => {
    const later = /** @type {HTMLTemplateElement | null} */ (document.getElementById("headlight-later"));
    if (later) document.head.append(later.content);
    later?.remove();
  };
  addEventListener("headlight-drawn", release);
  setTimeout(release, MAX_WAIT_MS);
}
