"""A project as a whole: arrivals, pages, releases, trends, data quality and storage."""
