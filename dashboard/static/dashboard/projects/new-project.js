// Suggests a slug while the name is typed, until somebody types a slug. Without this script the server makes it.

const slug = document.querySelector("[data-slug-of]");
const name = document.getElementById(slug.dataset.slugOf);
let isOwn = slug.value !== "";

slug.addEventListener("input", () => {
  isOwn = slug.value !== "";
});
name.addEventListener("input", () => {
  if (isOwn) return;
  const letters = name.value.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  slug.value = letters.replace(/[^a-z0-9_\s-]/g, "").trim().replace(/[-\s]+/g, "-").slice(0, slug.maxLength);
});
