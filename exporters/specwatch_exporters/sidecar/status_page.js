
"use strict";
(() => {
  const EVERY_MS = 5000;
  const offline = document.getElementById("offline");
  let fresh = Date.now();

  const opened = (root) => [...root.querySelectorAll("details[open]")].map((element) => element.id);

  const show = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const next = page.querySelector("main");
    const now = document.querySelector("main");
    if (!next) throw new Error("not a status page");
    for (const id of opened(now)) next.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
    now.replaceWith(document.adoptNode(next));
    document.title = page.title;
    const icon = page.querySelector("link[rel=icon]");
    if (icon) document.querySelector("link[rel=icon]").href = icon.href;
    fresh = Date.now();
    offline.hidden = true;
  };

  const fail = () => {
    const seconds = Math.round((Date.now() - fresh) / 1000);
    offline.textContent = `The sidecar does not answer. This page is ${seconds} s old.`;
    offline.hidden = false;
  };

  const refresh = async () => {
    // A hidden page costs nothing; a selection is somebody copying.
    if (document.hidden || String(getSelection())) return;
    try {
      const reply = await fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(EVERY_MS) });
      if (!reply.ok) throw new Error(reply.statusText);
      show(await reply.text());
    } catch {
      fail();
    }
  };

  setInterval(refresh, EVERY_MS);
  document.addEventListener("visibilitychange", refresh);
})();
