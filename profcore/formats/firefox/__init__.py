"""The Firefox Profiler's processed profile: the shapes of the format, and a writer for exports."""
