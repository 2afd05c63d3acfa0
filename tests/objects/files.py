"""Writes the same rows as Parquet files of one and of many row groups, by pyarrow, which is not ours, and prints
the sums that a query over them has to find.

    files.py FOLDER
"""

import random
import sys

import pyarrow
import pyarrow.parquet

ROWS = 300_000
GROUPS = 30


def main(folder: str) -> None:
    chance = random.Random(7)
    numbers = [chance.randrange(1 << 60) for _ in range(ROWS)]
    texts = [f"{chance.randrange(1 << 256):064x}" for _ in range(ROWS)]
    rows = pyarrow.table({"n": list(range(ROWS)), "x": numbers, "t": texts})
    for name, group in [("one", ROWS), ("many", ROWS // GROUPS)]:
        path = f"{folder}/{name}.parquet"
        pyarrow.parquet.write_table(rows, path, row_group_size=group, use_dictionary=False)
    print(f"{ROWS},{sum(range(ROWS))},{sum(numbers)},{min(texts)},{max(texts)}")


main(sys.argv[1])
