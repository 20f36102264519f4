// The page "Compare" works without this script. The script updates the forms and links next to the table when the table
// changes, and lets admins merge two functions.

const SHOWN = ["group_by", "measure", "only", "noise", "sort", "q"];
const compared = document.getElementById("compared");

function keepInStep() {
  const now = new URLSearchParams(location.search);
  for (const form of document.querySelectorAll("form.slice-bar, #chooser-form")) {
    for (const name of SHOWN) {
      form.querySelector(`input[type=hidden][name=${name}]`)?.remove();
      if (now.has(name)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: now.get(name) }));
    }
  }
  for (const link of document.querySelectorAll(".slice-bar a, .chooser a")) {
    const address = new URL(link.href);
    for (const name of SHOWN) {
      address.searchParams.delete(name);
      if (now.has(name)) address.searchParams.set(name, now.get(name));
    }
    link.href = address;
  }
}

function offerActions() {
  for (const button of document.querySelectorAll(".same-func")) button.hidden = false;
}

document.body.addEventListener("htmx:replacedInHistory", keepInStep);
document.body.addEventListener("htmx:afterSwap", offerActions);
offerActions();

// Empty fields are not sent, so that they stay out of the address.
const chooser = document.getElementById("chooser-form");
chooser.addEventListener("submit", () => {
  for (const field of chooser.querySelectorAll("select, input[name]")) if (!field.value) field.disabled = true;
});
window.addEventListener("pageshow", () => chooser.querySelectorAll(":disabled").forEach((field) => { field.disabled = false; }));

compared?.addEventListener("click", async ({ target }) => {
  const button = target.closest(".same-func");
  if (!button) return;
  if (!button.dataset.asked) {
    button.dataset.asked = "1";
    button.textContent = "Merge in all releases";
    return;
  }
  button.disabled = true;
  const { codeUrl, from, to } = button.dataset;
  try {
    await mergeFunctions(codeUrl, from, to);
    location.reload();
  } catch (error) {
    button.textContent = error.message;
  }
});

// Adds a rule to the project's code rules.
async function mergeFunctions(url, from, to) {
  const { rules } = await ask(url);
  const body = { rules: { ...rules, same_funcs: [...(rules.same_funcs ?? []), { from, to }] } };
  await ask(url, {
    method: "PATCH",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify(body),
  });
}

async function ask(url, options = {}) {
  const response = await fetch(url, { credentials: "same-origin", ...options });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail ?? `The server answered with status ${response.status}.`);
  return answer;
}

function csrfToken() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value; // of the form that logs out
}
