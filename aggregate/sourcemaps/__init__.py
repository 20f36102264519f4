"""Source maps: uploaded builds (`archives`, `uploading`), the labels they give (`queue`, `labelling`), their end."""
