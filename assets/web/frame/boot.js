// Lets Streamlit's own files wait until the first picture is drawn, or does not come: they are a hundred, and would stand
// in its way; and tells Streamlit where its server begins, which below a page's own address it would look for in vain first.
// A classic script without imports, so that nothing can keep it from running.

{
  /** @type {any} */ (window).__streamlit = { BACKEND_BASE_URL: new URL("./", location.href).href };
  const LONGEST_WAIT = 600; // ms
  const release = () => {
    const later = /** @type {HTMLTemplateElement | null} */ (document.getElementById("headlight-later"));
    if (later) document.head.append(later.content);
    later?.remove();
  };
  addEventListener("headlight-drawn", release);
  setTimeout(release, LONGEST_WAIT);
}
