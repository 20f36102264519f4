// Builds the shop's releases, as a team would: bundled, minified, hashed names, with source maps. What differs between
// releases is in releases/, laid over src/, which is the newest release.
// Usage: node build.mjs FOLDER
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { makeCatalogue } from './catalogue.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, 'dist');
const RELEASES = ['1.0.0', '1.1.0', '1.2.0'];
const TARGET = 'es2022';
const ASSETS = 'assets';

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
  const { metafile, outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx'],
    outdir: ASSETS, // not where they are written: the maps name sources from here, wherever the build is
    write: false,
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
  const assets = join(folder, release, 'assets');
  await mkdir(assets, { recursive: true });
  for (const { path, contents } of outputFiles) {
    await writeFile(join(assets, basename(path)), contents);
  }
  const entry = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === 'src/main.tsx')[0];
  await writeFile(join(folder, release, 'entry.txt'), `assets/${basename(entry)}\n`);
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
