"""What several benchmarks need: views to fill a database with, posts, and the processes of a stack."""
