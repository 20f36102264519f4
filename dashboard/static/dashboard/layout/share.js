// The button "Share": one click creates a link to this page, as its address is now, and copies it. A pop-over shows the
// link and its terms, which can be changed there. Without this script, the link is shown in the settings.
const opened = () => document.querySelector(".share-made:not([hidden])");

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-share]");
  if (!form) return;
  event.preventDefault();
  if (form.dataset.share === "make") share(form);
  else change(form, event.submitter);
});
document.addEventListener("click", (event) => {
  const box = opened();
  if (event.target.closest(".share-copy")) copyAgain(box);
  else if (box && !event.composedPath().includes(box.parentElement)) box.hidden = true;
});
document.addEventListener("keydown", (event) => {
  const box = event.key === "Escape" && opened();
  if (!box) return;
  box.hidden = true;
  box.parentElement.querySelector("form[data-share=make] button").focus();
});

async function share(form) {
  const box = form.parentElement.querySelector(".share-made");
  if (box.dataset.page === location.href && fieldOf(box)) { // a second click shows the same link
    box.hidden = false;
    copyAgain(box);
    return;
  }
  const page = location.href;
  form.elements.page.value = page; // scripts change the address
  const button = form.querySelector("button");
  button.disabled = true;
  const answer = post(form);
  const copied = copyLater(answer.then(readLink)); // begun during the click, else browsers refuse it
  try {
    box.innerHTML = await answer;
    box.dataset.page = page;
  } catch (error) {
    showProblem(box, error);
  } finally {
    button.disabled = false;
    box.hidden = false;
  }
  if (fieldOf(box)) say(box, await copied);
}

async function change(form, submitter) {
  const box = form.closest(".share-made");
  const terms = form.closest(".share-terms");
  try {
    terms.outerHTML = await post(form, submitter);
    box.querySelector(".share-said").textContent = "";
    if (!box.querySelector("form")) forget(box); // it is revoked
  } catch (error) {
    showProblem(box, error);
  }
}

function forget(box) {
  box.querySelector(".share-link").remove();
  delete box.dataset.page;
}

class Problem extends Error {}

async function post(form, submitter) {
  const response = await fetch(form.action, {
    method: "POST",
    credentials: "same-origin",
    headers: { "HX-Request": "true" },
    body: new FormData(form, submitter),
  });
  if (response.redirected) throw new Problem("You are logged out. Reload this page and log in.");
  const html = await response.text();
  if (response.ok) return html;
  const words = new DOMParser().parseFromString(html, "text/html").querySelector(".problem")?.textContent;
  throw new Problem(words ?? `The server could not create a link (status ${response.status}).`);
}

function showProblem(box, error) {
  const line = document.createElement("p");
  line.className = "problem";
  line.setAttribute("role", "alert");
  line.textContent = error instanceof Problem ? error.message : "The server did not answer. Check the connection and try again.";
  box.replaceChildren(line);
  delete box.dataset.page;
}

const fieldOf = (box) => box.querySelector(".share-link input");

function readLink(html) {
  return fieldOf(new DOMParser().parseFromString(html, "text/html")).value;
}

async function copyAgain(box) {
  say(box, await copyLater(Promise.resolve(fieldOf(box).value)));
}

// Copies a text that comes later, and tells whether that worked. It needs https, or this computer.
async function copyLater(text) {
  const blob = text.then((words) => new Blob([words], { type: "text/plain" }));
  blob.catch(() => {}); // without a clipboard, nothing else handles that no link comes
  try {
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    return true;
  } catch {
    try {
      await navigator.clipboard.writeText(await text);
      return true;
    } catch {
      return false;
    }
  }
}

function say(box, isCopied) {
  box.querySelector(".share-said").textContent = isCopied ? "Link copied." : "The link is selected: copy it with Ctrl+C.";
  fieldOf(box).focus();
  fieldOf(box).select();
}
