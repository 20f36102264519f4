/** Starts the shop: loads the catalogue, then shows the page of the address. */

import { render } from 'preact';
import { reportView } from './analytics';
import { loadCatalogue } from './api';
import { onNavigation, readRoute, type Route } from './router';

/** Each page is a chunk of its own, which the browser loads when somebody goes there. */
const PAGES = {
  '/': () => import('./pages/home'),
  '/category/:name': () => import('./pages/category'),
  '/product/:id': () => import('./pages/product'),
  '/checkout': () => import('./pages/checkout'),
};

const root = document.querySelector('main')!;
const catalogue = loadCatalogue();

async function showPage(route: Route): Promise<void> {
  const [{ Page }, shop] = await Promise.all([PAGES[route.page](), catalogue]);
  render(<Page key={location.pathname} catalogue={shop} value={route.value} />, root);
  scrollTo(0, 0);
  document.title = `${route.value || 'Home'}, Hill & Dale`;
  reportView(route.page);
  root.dataset.shown = location.pathname; // for whoever drives the page
}

onNavigation(showPage);
void showPage(readRoute(location.pathname));
