// Writes the extension as a .vsix, which is a zip: `code --install-extension fieldflame-1.0.0.vsix` installs it.
// Usage: npm ci && node build.mjs [FILE]
import { readFile, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { zipSync } from 'fflate';

const here = new URL('.', import.meta.url);
const read = (name) => readFile(new URL(name, here));
const manifest = JSON.parse(await read('package.json'));
const file = process.argv[2] ?? `fieldflame-${manifest.version}.vsix`;
const options = { bundle: true, minify: true, platform: 'node', format: 'cjs', external: ['vscode'], write: false };
const bundled = await build({ ...options, absWorkingDir: decodeURI(here.pathname), entryPoints: ['extension.js'] });

const types = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
`;
const vsix = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${manifest.name}" Version="${manifest.version}" Publisher="${manifest.publisher}"/>
    <DisplayName>${manifest.displayName}</DisplayName>
    <Description xml:space="preserve">${manifest.description}</Description>
    <Categories>${manifest.categories.join(',')}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${manifest.engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
const encode = (text) => new TextEncoder().encode(text);
const files = {
  '[Content_Types].xml': encode(types),
  'extension.vsixmanifest': encode(vsix),
  'extension/package.json': await read('package.json'),
  'extension/README.md': await read('README.md'),
  'extension/dist/extension.js': bundled.outputFiles[0].contents,
};
await writeFile(file, zipSync(files, { level: 9, mtime: '2026-01-01T00:00:00' }));
console.log(file);
