// Builds the shop's releases, as a team would: bundled, minified, hashed names, with source maps. What differs between
// releases is in releases/, laid over src/, which is the newest release.
// Usage: node build.mjs FOLDER
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { makeCatalogue } from './catalogue.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, 'dist');
const RELEASES = ['1.0.0', '1.1.0', '1.2.0'];
const TARGET = 'es2022';

/** Replaces files of src/ by those that a release had. The maps name them by their place in src/. */
function layOver(release) {
  return {
    name: 'release',
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        const own = join(here, 'releases', release, relative(here, path));
        return existsSync(own) ? { contents: await readFile(own), loader: 'tsx' } : undefined;
      });
    },
  };
}

async function buildRelease(release) {
  const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx'],
    outdir: join(folder, release, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    sourcemap: true,
    target: TARGET,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    plugins: [layOver(release)],
  });
  const entry = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === 'src/main.tsx')[0];
  await writeFile(join(folder, release, 'entry.txt'), `assets/${entry.split('/').at(-1)}\n`);
}

await mkdir(folder, { recursive: true });
for (const release of RELEASES) {
  await buildRelease(release);
}
// The vendor's own build. It shortens no names, as some vendors' builds do not.
await build({
  absWorkingDir: here,
  entryPoints: ['vendor/tag.ts'],
  outfile: join(folder, 'vendor', 'tag.js'),
  minifyWhitespace: true,
  bundle: true,
  format: 'iife',
  target: TARGET,
});
await writeFile(join(folder, 'catalogue.json'), JSON.stringify(makeCatalogue()));
