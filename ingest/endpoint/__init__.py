"""The door: from a posted body to stored envelopes."""
