"""How static files are named and packed."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Names files by their content, and in scripts the modules they import: a page never mixes two versions."""

    support_js_module_import_aggregation = True
