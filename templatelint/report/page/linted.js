// One rule's findings alone; the severities need no script.
const chosen = document.getElementById("rule");
if (chosen) {
  const show = () => {
    for (const one of document.querySelectorAll("#findings .one")) one.hidden = chosen.value !== "" && one.dataset.rule !== chosen.value;
    for (const section of document.querySelectorAll("#findings > section"))
      section.hidden = chosen.value !== "" && !section.querySelector(".one:not([hidden])");
  };
  chosen.closest("label").hidden = false;
  chosen.addEventListener("change", show);
  show(); // browsers keep what was chosen when a page is loaded again
}
