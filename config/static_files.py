"""The names and the compression of static files."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Names files by their content, also in the imports of scripts, so that a page never mixes two versions."""

    support_js_module_import_aggregation = True
