// Another profiler on the same page, for a browser test: bundled and put into a page as `Sentry`.
import * as Sentry from '@sentry/browser';

window.Sentry = Sentry;
