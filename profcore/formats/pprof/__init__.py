"""pprof's profile: protocol buffers, gzipped."""
