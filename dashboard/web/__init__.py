"""What pages and the read API share: access, parameters, answers, ETags, exports."""
