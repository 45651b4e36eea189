"use strict";
// Browsers that do not unfold what a link leads to, and those who would rather see all of it.
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  const summary = target.parentElement?.querySelector(":scope > summary");
  (summary ?? target).scrollIntoView();
  summary?.focus({ preventScroll: true });
};
addEventListener("hashchange", unfold);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (link && link.hash === location.hash) unfold();
});
unfold();
