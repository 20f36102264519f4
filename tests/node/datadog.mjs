// Another product's SDK on the same page, for a browser test: bundled and put into a page as `datadogRum`.
import { datadogRum } from '@datadog/browser-rum';

window.datadogRum = datadogRum;
