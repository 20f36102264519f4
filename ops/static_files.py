"""The names and the compression of static files."""

from typing import Any

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Names files by their content, also in the imports of scripts, so that a page never mixes two versions."""

    support_js_module_import_aggregation = True

    def create_compressor(self, **options: Any) -> Compressor:  # Any: as whitenoise passes them
        """Returns a compressor to gzip only: brotli, which is here for the snippet, would delay the first start."""
        return Compressor(**options, use_brotli=False)
