// Accepts files dropped onto the import form, warns about files that are too large, and shows that an upload is running.
// The form works without this script.

const form = document.getElementById("import");
const drop = document.getElementById("drop");
const input = document.getElementById("files");
const hint = document.getElementById("files-hint");
const statusLine = document.getElementById("import-status");

if (form) {
  hint.textContent = hint.dataset.withScript;
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, welcome);
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", take);
  // The browser would open a file that is dropped outside the zone.
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
  input.addEventListener("change", describe);
  form.addEventListener("submit", send);
  window.addEventListener("pageshow", () => { form.querySelector("button").disabled = false; });
  document.getElementById("outcome")?.focus();
}

function welcome(event) {
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
  drop.classList.add("over");
}

function take(event) {
  event.preventDefault();
  if (event.dataTransfer.files.length === 0) return;
  input.files = event.dataTransfer.files;
  describe();
}

function describe() {
  const files = [...input.files];
  hint.textContent = files.length ? files.map((file) => `${file.name} (${size(file.size)})`).join(", ") : hint.dataset.withScript;
  const limit = Number(form.dataset.limit);
  const isTooLarge = files.reduce((sum, file) => sum + file.size, 0) > limit;
  input.setCustomValidity(isTooLarge ? `These files are larger than ${size(limit)} together.` : "");
  if (isTooLarge) input.reportValidity();
}

function send() {
  form.querySelector("button").disabled = true;
  statusLine.textContent = "Uploading and reading. This can take a minute…";
}

function size(bytes) {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
