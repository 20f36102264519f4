// A provider of OpenID Connect in a process of its own, for tests: npm's oidc-provider, on 127.0.0.1.
// Arguments: the port, and the settings as JSON: {redirect, people: {name: {groups, …}}}. It prints "ready".
// Each name is also a password; names that it does not know are refused.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [port, given] = process.argv.slice(2);
const { redirect, people } = JSON.parse(given);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "fieldflame", client_secret: "a secret of tests", redirect_uris: [redirect] }],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
  pkce: { required: () => true },
  cookies: { keys: ["of tests"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
});

async function interact(request, response) {
  const { prompt, params, grantId, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "consent") {
    const known = grantId ? await provider.Grant.find(grantId) : undefined;
    const grant = known ?? new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
  }
  if (request.method === "POST") {
    let body = "";
    for await (const piece of request) body += piece;
    const fields = new URLSearchParams(body);
    const name = fields.get("name");
    if (fields.get("deny")) return provider.interactionFinished(request, response, { error: "access_denied" });
    if (people[name] && fields.get("password") === name) return provider.interactionFinished(request, response, { login: { accountId: name } });
  }
  response.setHeader("Content-Type", "text/html");
  response.end(`<!doctype html><html lang="en"><title>Provider</title><form method="post"><label>Name <input name="name"></label>
    <label>Password <input name="password" type="password"></label><button>Log in</button></form></html>`);
}

const handle = provider.callback();
createServer((request, response) => {
  // Changes of people while it runs, by the tests only.
  if (request.url === "/people" && request.method === "POST") {
    let body = "";
    request.on("data", (piece) => (body += piece)).on("end", () => { Object.assign(people, JSON.parse(body)); response.end(); });
  } else if (request.url.startsWith("/interaction/")) {
    interact(request, response).catch((error) => { response.statusCode = 500; response.end(String(error)); });
  } else handle(request, response);
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
