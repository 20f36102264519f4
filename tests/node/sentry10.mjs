// The same of the line before, which sends transactions where the present one sends spans.
import * as Sentry from '@sentry/browser-10';

window.Sentry = Sentry;
