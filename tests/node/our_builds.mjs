/** Builds a site with a bundler and our own plugin: BUNDLER SOURCE TARGET SERVER TOKEN. */

import * as esbuild from 'esbuild';
import { rolldown } from 'rolldown';
import { build } from 'vite';
import { fieldflame, fieldflameEsbuild } from '../../packages/fieldflame-maps/index.mjs';

const [bundler, source, target, url, token] = process.argv.slice(2);
const options = { url, token, project: 'shop', release: '1.4.0' };

if (bundler === 'esbuild') {
  await esbuild.build({
    entryPoints: [`${source}/main.js`], bundle: true, minify: true, sourcemap: true, outdir: `${target}/assets`,
    banner: { js: '"use strict";' }, logLevel: 'error', plugins: [fieldflameEsbuild(options)],
  });
} else if (bundler === 'vite') {
  await build({
    root: source, logLevel: 'error', plugins: [fieldflame(options)],
    build: { outDir: target, emptyOutDir: true, sourcemap: 'hidden', modulePreload: false },
  });
} else {
  const built = await rolldown({ input: `${source}/main.js`, plugins: [fieldflame(options)] });
  await built.write({ file: `${target}/assets/main.js`, format: 'iife', sourcemap: true, minify: true });
}
