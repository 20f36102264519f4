"""What logins need besides their page: where wrong passwords are counted, and for whom."""
