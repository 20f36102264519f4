import type { Options as CoreOptions } from './index';

/** What a page can set for the full core, which docs/look-back.md and docs/headers.md explain. */
export interface Options extends CoreOptions {
  /** `slow`: of most page views only slow moments are sent. */
  readonly keep?: 'slow' | 'all';
  /** Share of the recorded page views that are sent whole all the same. */
  readonly whole?: number;
  /** Share of the page views that tell how soon the page was there, with the header and without. */
  readonly experiment?: number;
}

/** Records this page. A second call does nothing. Never throws. */
export function start(options: Options): void;

export { fieldflame } from './index';
