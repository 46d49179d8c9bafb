// Delays Streamlit's hundred files until the first picture is drawn or fails, so that they do not compete with it.
// Tells Streamlit its base URL, which it would first search for in vain on a page's own path, and reads the display
// settings of this browser. A classic script without imports, so that nothing can keep it from running.

{
  /** @type {any} */ (window).__streamlit = { BACKEND_BASE_URL: new URL("./", location.href).href };
  // Streamlit posts messages to any parent page; it finds none here, and embedding.js keeps the real one
  /** @type {any} */ (window).headlightParent = window.parent;
  if (window.parent !== window) /** @type {any} */ (window).parent = window;
  const stored = (/** @type {string} */ key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage is disabled
    }
  };
  const { dataset } = document.documentElement;
  const prefersContrast = matchMedia("(prefers-contrast: more)").matches;
  if ((stored("headlight-contrast") ?? `${prefersContrast}`) === "true") dataset.contrast = "strong";
  if (stored("headlight-hatch") === "false") dataset.hatch = "none";
  if (location.protocol === "file:")
    document.body.textContent =
      "A browser runs no modules from a folder. Open it through a web server: type python -m http.server in this folder, then open http://127.0.0.1:8000.";
  const MAX_WAIT_MS = 600;
  const release = () => {
    const later = /** @type {HTMLTemplateElement | null} */ (document.getElementById("headlight-later"));
    if (later) document.head.append(later.content);
    later?.remove();
  };
  addEventListener("headlight-drawn", release);
  setTimeout(release, MAX_WAIT_MS);
}
