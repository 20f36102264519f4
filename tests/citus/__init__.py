"""Tests on a real Citus, whose coordinator `CITUS_URL` names; without it they are skipped."""
