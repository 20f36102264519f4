"""The endpoint: from a posted body to stored envelopes."""
