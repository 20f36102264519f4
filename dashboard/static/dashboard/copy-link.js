// Makes a link that opens the slice in the viewer without logging in here, and copies it. The link ends after a while.

const BUTTONS = "button[data-links-url]"; // one may come later, with a part of the page
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

async function copyLink(button) {
  button.disabled = true;
  try {
    const response = await fetch(button.dataset.linksUrl, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
      body: JSON.stringify({ params: readParams(button.dataset.profileUrl) }),
    });
    if (response.status === 401) return say("You are logged out by now. Reload this page and log in.");
    if (!response.ok) return say(`This server could not make a link (status ${response.status}).`);
    const link = await response.json();
    await navigator.clipboard.writeText(link.viewer_url);
    const until = new Date(link.expires_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    say(`Copied. Whoever has the link can see this profile until ${until}, without logging in.${warnOf(link)}`);
  } catch (error) {
    say("The link could not be made or copied. Check the connection and try again.");
    console.error(error);
  } finally {
    button.disabled = false;
  }
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
