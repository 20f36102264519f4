// Makes a link that opens the slice in the viewer without logging in here, and copies it; or, of a difference, opens both
// sides in the viewer's own comparison, which fetches by such a link. The link ends after a while.

const BUTTONS = "button[data-links-url]:not(#open-comparison)"; // one may come later, with a part of the page
const statusLine = document.getElementById("open-status");
const showButtons = (host) => { for (const button of host.querySelectorAll(BUTTONS)) button.hidden = false; };

if (navigator.clipboard) {
  showButtons(document);
  document.body.addEventListener("htmx:afterSwap", (event) => showButtons(event.detail.target));
  document.addEventListener("click", (event) => {
    const button = event.target.closest(BUTTONS);
    if (button) copyLink(button);
  });
}

const comparison = document.getElementById("open-comparison");
if (comparison) {
  comparison.hidden = false;
  comparison.addEventListener("click", openComparison);
}

async function copyLink(button) {
  button.disabled = true;
  try {
    const link = await makeLink(button.dataset);
    if (!link) return;
    await navigator.clipboard.writeText(link.viewer_url);
    say(`Copied. Whoever has the link can see this profile until ${untilOf(link)}, without logging in.${warnOf(link)}`);
  } catch (error) {
    say("The link could not be made or copied. Check the connection and try again.");
    console.error(error);
  } finally {
    button.disabled = false;
  }
}

async function openComparison() {
  const viewer = window.open("", "_blank"); // at once: later, the browser would take it for a pop-up
  if (!viewer) return say("The browser blocked the new window. Allow pop-ups for this site and try again.");
  viewer.opener = null;
  comparison.disabled = true;
  let link = null;
  try {
    link = await makeLink(comparison.dataset);
    if (!link) return;
    viewer.location.replace(link.compare_url);
    say(`Opened in a new window. Its address shows both sides to whoever has it until ${untilOf(link)}.${warnOf(link)}`);
  } catch (error) {
    say("The link could not be made. Check the connection and try again.");
    console.error(error);
  } finally {
    if (!link) viewer.close();
    comparison.disabled = false;
  }
}

// Returns a new link, or null after it has said why there is none.
async function makeLink({ linksUrl, profileUrl }) {
  const response = await fetch(linksUrl, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify({ params: readParams(profileUrl) }),
  });
  if (response.ok) return response.json();
  const words = response.status === 401
    ? "You are logged out by now. Reload this page and log in."
    : `This server could not make a link (status ${response.status}).`;
  say(words);
  return null;
}

function untilOf(link) {
  return new Date(link.expires_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

// What the viewer will meet when it fetches from here: browsers decide, and their own messages say little.
function warnOf(link) {
  const [here, viewer] = [new URL(link.url), new URL(link.viewer_url)];
  if (here.protocol === "https:" || viewer.protocol === "http:") return "";
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(here.hostname);
  return isLocal
    ? " It works on this computer alone; Chrome asks there for access to the local network first, and Safari refuses."
    : " Browsers will refuse it: this server is on http and the viewer on https. Put this server behind https, or set a viewer of your own.";
}

function readParams(address) {
  const params = {};
  for (const [name, value] of new URL(address, location.href).searchParams) (params[name] ??= []).push(value);
  return params;
}

function csrfToken() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value; // of the form that logs out
}

function say(sentence) {
  statusLine.textContent = sentence;
}
