// The settings work without this script. With it, a button copies texts, a button adds a row for a rule, and the result
// of a form has the focus.

import "../layout/copy-text.js";

// Adds a row for a rule, from the empty row in the page's template element.
for (const foot of document.querySelectorAll(".add-rule")) {
  foot.hidden = false;
  const button = foot.querySelector("button");
  const count = document.getElementById(`id_${button.dataset.prefix}-TOTAL_FORMS`);
  const most = Number(document.getElementById(`id_${button.dataset.prefix}-MAX_NUM_FORMS`).value);
  const empty = foot.parentElement.querySelector("template");
  button.addEventListener("click", () => {
    const row = empty.content.firstElementChild.cloneNode(true);
    row.innerHTML = row.innerHTML.replaceAll("__prefix__", count.value);
    foot.parentElement.querySelector("tbody").append(row);
    count.value = Number(count.value) + 1;
    button.disabled = Number(count.value) >= most;
    row.querySelector("select, input").focus();
  });
}

// On a narrow screen the list of sections scrolls sideways: scroll to the current one.
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// After a form was sent, focus its result: the preview, a token, or the upload.
const outcome = document.querySelector(".take-focus, #preview");
if (outcome && !document.querySelector("[autofocus]")) outcome.focus();
