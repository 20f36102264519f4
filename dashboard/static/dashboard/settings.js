// The settings work without this. With it, texts can be copied by a button, rules come by the row, and
// what came of a form has the focus.

import "./copy-text.js";

// A row more for the rules of a kind, made of the empty one that the page brings along.
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

// On a narrow screen the list of sections scrolls sideways: the one that is shown must be in sight.
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// After a form was sent the words about it come first: the preview, a token, what became of an upload.
const outcome = document.querySelector(".take-focus, #preview");
if (outcome && !document.querySelector("[autofocus]")) outcome.focus();
