"""MapReduce jobs, also with mappers and reducers written in Python.

    def words(line):
        for word in line.split():
            yield word, 1

    def total(word, counts):
        yield word, sum(map(int, counts))

    job = quarry.jobs.run(mapper=words, reducer=total, combiner=total,
                          inputs=["file:books/*.txt"], outputs=["file:counts"])
    print(job.id, job.records_out)

A function is a top-level one of a file: the file goes with the job, and tasks
import the standard library and what the machines they run on have installed
for `python`. A mapper gets a line as bytes, or a row of a table (`key`,
`value(column)`, `family(name)`, `cells`); it yields (key, value). A reducer gets
a key and an iterator of values, all bytes, and yields tuples or lines; where
the output is a table, (row, "family:qualifier", value) or (row, column,
timestamp_us, value).
"""

import inspect
import json
import os
import shlex
import subprocess
from typing import (Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Union)

from .program import find_program

Function = Union[str, Callable[..., Any]]


class JobError(RuntimeError):
    """A job failed; the text says why."""


class Job(NamedTuple):
    """A job that has ended."""

    id: str
    seconds: float
    records_in: int
    records_out: int
    failed: int  # Attempts.


def _runner() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "task_runner.py")


def _command(function: Function, stage: str, kind: str, python: str,
             files: Dict[str, str]) -> str:
    """The command of a function, and the files that it needs."""
    if isinstance(function, str):
        return function
    path = inspect.getsourcefile(function)
    name = function.__name__
    if not path or "<" in name or "." in function.__qualname__:
        raise ValueError("%r is not a top-level function of a file" % function)
    path = os.path.abspath(path)
    files["task_runner"] = _runner()
    source = next((n for n, p in files.items() if p == path), None)
    if source is None:
        source = "python_%d" % len(files)
        files[source] = path
    return '%s "$QUARRY_FILE_task_runner" %s "$QUARRY_FILE_%s" %s %s' % (
        shlex.quote(python), stage, source, shlex.quote(name), kind)


def run(job: Optional[str] = None, *, mapper: Optional[Function] = None,
        reducer: Optional[Function] = None,
        combiner: Optional[Function] = None, inputs: Iterable[str],
        outputs: Iterable[str], params: Optional[Mapping[str, Any]] = None,
        files: Optional[Mapping[str, str]] = None,
        target: Optional[str] = None, python: str = "python3",
        overwrite: bool = False, options: Iterable[str] = ()) -> Job:
    """Run a job to its end: one of the catalogue ("word_count"), FILE.so,
    FILE.szl, or mapper and reducer: functions, or shell commands. `options` are
    further ones of `quarry job run`. JobError: it failed."""
    side = dict(files or {})
    inputs = list(inputs)
    kind = "rows" if any(i.startswith("table:") for i in inputs) else "lines"
    argv: List[str] = [find_program(), "job", "run"]
    if job:
        argv.append(job)
    for name, function in (("mapper", mapper), ("reducer", reducer),
                           ("combiner", combiner)):
        if function is not None:
            stage = "map" if name == "mapper" else "reduce"
            argv += ["--" + name,
                     _command(function, stage, kind, python, side)]
    for i in inputs:
        argv += ["--input", i]
    for o in outputs:
        argv += ["--output", o]
    for name, value in (params or {}).items():
        argv += ["--param", "%s=%s" % (name, value)]
    for name, path in side.items():
        argv += ["--file", "%s=%s" % (name, path)]
    if target:
        argv += ["--target", target]
    if overwrite:
        argv.append("--overwrite")
    argv += list(options) + ["--format", "json"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode:
        raise JobError(done.stderr.decode(errors="replace").strip())
    return _job(done.stdout.decode(errors="replace"))


def _job(text: str) -> Job:
    """The job of the object that `quarry job run --format json` prints."""
    told: Dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("{"):
            told.update(json.loads(line))
    return Job(told.get("job", ""), told.get("seconds", 0.0),
               told.get("records_in", 0), told.get("records_out", 0),
               told.get("failed", 0))
