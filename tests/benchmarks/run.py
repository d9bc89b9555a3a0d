"""The benchmarks: `python tests/benchmarks/run.py [NAME …]`; exit status 1 if a promise is missed.

Each line shows our figure, the peer's, the median of their ratios, and the most that is promised. The peers come with
`pip install chainrule[bench]`; without one, its comparisons are skipped.
"""

from __future__ import annotations

import importlib
import sys

from harness import HEADER, SkippedError

BENCHMARKS = ("startup", "sums", "parsing", "batch", "verify", "tensors", "large", "looking")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all, and print each line as soon as it is known."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; they are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    missed = 0
    print(HEADER)
    for name in names or BENCHMARKS:
        try:
            for result in importlib.import_module(name).run():
                print(result, flush=True)
                missed += result.missed
        except SkippedError as reason:
            print(f"{name:<44} skipped: {reason}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
