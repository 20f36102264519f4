"""What ends alarms of releases: users have an older one again, a newer one is faster, or it is no longer evaluated."""
