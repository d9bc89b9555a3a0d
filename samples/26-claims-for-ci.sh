# Claims in a repository, checked by a job of continuous integration: the report in JUnit's format, and exit status 1
# where one is wrong
chainrule verify -f samples/claims.jsonl --strict --format junit
chainrule verify -f samples/claims.csv --quiet   # exit 1
