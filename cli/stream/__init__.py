"""`chainrule batch` inside: bytes to blocks, blocks to records, records to results, results in order to a file."""
