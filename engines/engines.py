"""Asks several engines the same questions about one history, and fails if their answers differ.

    engines.py PLACE QUERIES QUERY_PROGRAM BALLISTA_PROGRAM

The engines read the history's table as it is: those that know Delta Lake by its log, the others by
the list of live files that the log gives. Numbers may differ by a relative 1e-12, because the order
of a sum is the engine's own; all else must be equal.
"""

import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

PLACE = pathlib.Path(sys.argv[1]).resolve()
TRIES = 3
# ClickHouse's engine reads only what lies below the working folder.
os.chdir(PLACE.parent)


def live_files():
    """The files of the table: what was added and not removed since."""
    live, removed = {}, 0
    for entry in sorted((PLACE / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            action = json.loads(line)
            if "metaData" in action:
                features = action["metaData"]["configuration"]
                assert "delta.enableDeletionVectors" not in features, "rows may be removed"
            if "add" in action:
                live[action["add"]["path"]] = None
            if "remove" in action:
                del live[action["remove"]["path"]]
                removed += 1
    return [str(PLACE / path) for path in live], removed


FILES, REMOVED = live_files()


def polars():
    import polars

    context = polars.SQLContext(points=polars.scan_delta(str(PLACE)))
    return polars.__version__, lambda sql: context.execute(sql).collect().to_dicts()


def duckdb():
    import duckdb
    import duckdb_extension_delta

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    try:
        connection.execute("load delta")
    except duckdb.Error:
        package = pathlib.Path(duckdb_extension_delta.__file__).parent
        [extension] = package.rglob("delta.duckdb_extension*")
        connection.execute(f"load '{extension}'")
    connection.execute("set timezone = 'UTC'")
    connection.execute(f"create view points as select * from delta_scan('{PLACE}')")

    def ask(sql):
        cursor = connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    return duckdb.__version__, ask


def clickhouse():
    import chdb
    from chdb import session

    opened = session.Session()
    opened.query("create database history engine = Atomic")
    opened.query(f"create view history.points as select * from deltaLakeLocal('{PLACE}')")

    def ask(sql):
        settings = "settings output_format_json_quote_64bit_integers = 0"
        answer = opened.query(f"{sql.replace(' points', ' history.points')} {settings}", "JSON")
        return json.loads(str(answer))["data"]

    return chdb.__version__, ask


def spark():
    import pyspark
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    started = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    started.read.parquet(*FILES).createOrReplaceTempView("points")
    return pyspark.__version__, lambda sql: [row.asDict() for row in started.sql(sql).collect()]


def datafusion():
    def ask(sql):
        line = [sys.argv[3], "--from", str(PLACE), "--format", "json", sql]
        return json.loads(subprocess.run(line, check=True, capture_output=True).stdout)

    return "the query command, a process each", ask


def ballista(queries, series):
    """Its program answers all questions in one process."""
    line = [sys.argv[4], queries, series, *FILES]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def plain(value):
    """A cell as every engine can say it: times are microseconds since 1970."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        since = aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return since // datetime.timedelta(microseconds=1)
    if isinstance(value, str) and value[:2] == "20" and value[4:5] == "-" and value[10:11] in "T ":
        return plain(datetime.datetime.fromisoformat(value.replace("Z", "+00:00")))
    return value


def is_equal(one, other):
    if isinstance(one, float) or isinstance(other, float):
        return None not in (one, other) and math.isclose(one, other, rel_tol=1e-12)
    return one == other


def differing(one, other):
    """The first place at which two answers differ."""
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} rows"
    for number, (left, right) in enumerate(zip(one, other)):
        if left.keys() != right.keys():
            return f"row {number}: columns {sorted(left)} and {sorted(right)}"
        for name in left:
            if not is_equal(plain(left[name]), plain(right[name])):
                return f"row {number}, {name}: {left[name]!r} and {right[name]!r}"
    return None


def main():
    text = pathlib.Path(sys.argv[2]).read_text()
    _, ask = datafusion()
    series = ask("select min(series) as id from points where op = 'matmul'")[0]["id"]
    queries = [query.strip().replace("{series}", series) for query in text.split(";")]
    answers, seconds = {}, {}
    for engine in (datafusion, polars, duckdb, clickhouse, spark):
        began = time.perf_counter()
        version, ask = engine()
        name = f"{engine.__name__} ({version})"
        start = time.perf_counter() - began
        answers[name], seconds[name] = [], []
        for query in queries:
            tries = []
            for _ in range(TRIES):
                began = time.perf_counter()
                rows = ask(query)
                tries.append(time.perf_counter() - began)
            answers[name].append(rows)
            seconds[name].append(min(tries))
        print(f"{name}: started in {start:.2f} s", flush=True)
    said = ballista(sys.argv[2], series)
    answers["ballista (two executors)"] = [answer["rows"] for answer in said]
    seconds["ballista (two executors)"] = [min(answer["seconds"]) for answer in said]

    rows = answers["datafusion (the query command, a process each)"][0][0]["n"]
    print(f"{rows} rows in {len(FILES)} live files; {REMOVED} files were removed")
    assert REMOVED > 0 and all(answer for answer in next(iter(answers.values())))
    failed = False
    first, *others = answers
    for number in range(len(queries)):
        for other in others:
            difference = differing(answers[first][number], answers[other][number])
            if difference:
                failed = True
                print(f"query {number + 1}: {first} and {other} differ: {difference}")
    for name, times in seconds.items():
        print(f"{name:48}", *(f"{1e3 * it:8.1f} ms" for it in times))
    if failed:
        sys.exit("the engines differ")
    print(f"{len(answers)} engines give equal answers to {len(queries)} questions")


main()
