// The server writes times in UTC. This script shows them in the reader's zone (data-local), or how long ago they were
// (data-ago), which it updates. The tooltip has both zones.
const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
const REFRESH_MS = 20_000; // minutes are the smallest unit shown

function tellAge(at) {
  const seconds = Math.max(0, (Date.now() - at) / 1000); // clocks differ a little: never show the future
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? [];
  return unit ? relative.format(-Math.floor(seconds / size), unit) : "just now";
}

function tell(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  time.dataset.utc ??= time.textContent.trim();
  const isAgo = time.hasAttribute("data-ago");
  const text = isAgo ? tellAge(at) : local.format(at);
  if (time.textContent !== text) time.textContent = text;
  const utc = time.dataset.utc.endsWith("UTC") ? time.dataset.utc : `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  time.title = isAgo ? `${precise.format(at)} (${utc})` : utc;
}

const tellAll = (within) => within.querySelectorAll("time[data-local], time[data-ago]").forEach(tell);

tellAll(document);
setInterval(() => document.querySelectorAll("time[data-ago]").forEach(tell), REFRESH_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tellAll(document); });
// Paper is read later and elsewhere, so printed times are in UTC.
window.addEventListener("beforeprint", () => {
  for (const time of document.querySelectorAll("time[data-utc]")) time.textContent = time.dataset.utc;
});
window.addEventListener("afterprint", () => tellAll(document));
document.body.addEventListener("htmx:load", ({ target }) => tellAll(target)); // in parts that are fetched
