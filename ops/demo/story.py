"""The demo's story: its releases, its hosts, and when which release was live."""

from typing import Final

SLUG: Final = "demo"
KEY: Final = "demo"
NAME: Final = "Demo shop"
RELEASES: Final = ("1.0.0", "1.1.0", "1.2.0")
RELEASE_WITH_TAG: Final = "1.2.0"
SHOP_HOST: Final = "shop.example"
TAG_HOST: Final = "tags.metrics-vendor.example"
TAG_PATH: Final = "/v3/tag.js"
INGEST_HOST: Final = "fieldflame.example"
PAGES: Final = ("/", "/category/:name", "/product/:id", "/checkout")
