// Starts `fieldflame lsp` for the open folder. All that is shown comes from that command.
import { commands, window, workspace } from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

const TOKEN = 'fieldflame.token';
const LANGUAGES = ['javascript', 'javascriptreact', 'typescript', 'typescriptreact', 'vue', 'svelte', 'astro'];
let client;

/** Starts the language server as soon as address, project and token are known, and again after each change. */
export async function activate(context) {
  const restart = () => start(context).catch((error) => window.showErrorMessage(`Fieldflame: ${error.message}`));
  context.subscriptions.push(
    commands.registerCommand('fieldflame.setToken', async () => {
      const token = await window.showInputBox({
        title: 'A token of the project, with the scope read',
        password: true,
        ignoreFocusOut: true,
      });
      if (token !== undefined) await context.secrets.store(TOKEN, token.trim());
    }),
    context.secrets.onDidChange(({ key }) => key === TOKEN && restart()),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration('fieldflame') && restart()),
  );
  await restart();
}

export async function deactivate() {
  await client?.stop();
}

async function start(context) {
  await client?.stop();
  client = undefined;
  const settings = workspace.getConfiguration('fieldflame');
  const [command, ...before] = settings.get('command');
  const [url, project, token] = [settings.get('url'), settings.get('project'), await context.secrets.get(TOKEN)];
  if (!url || !project || !token || !command) return; // switched off until someone fills them in
  const env = { ...process.env, FIELDFLAME_URL: url, FIELDFLAME_TOKEN: token };
  client = new LanguageClient(
    'fieldflame',
    'Fieldflame',
    { command, args: [...before, 'lsp', '--project', project], options: { env } },
    { documentSelector: LANGUAGES.map((language) => ({ scheme: 'file', language })) },
  );
  await client.start();
}
