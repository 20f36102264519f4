"""Settings, the Celery application and the supervisor."""
