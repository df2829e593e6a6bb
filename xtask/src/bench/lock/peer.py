"""Peers of lockfn that are Python: the seed's decorator, filelock, portalocker.

peer.py uncontended DIR PAIRS    -> {"name": nanoseconds of CPU per pair}
peer.py contend WHAT DIR START SECONDS HOLD THINK -> {"entered": n, "longest_us": n}
"""

import fcntl
import json
import os
import sys
import time
from functools import wraps
from inspect import getfile
from pathlib import Path
from time import sleep

import filelock
import portalocker


# The seed's decorator, without the type parameters that need Python 3.12, and with the directory
# as an argument.
def lock_function(directory, mode="skip", delay=0):
    def decorator(func):
        source = str(Path(getfile(func)).resolve()).replace("/", "_").replace(".py", "")
        lock_path = Path(directory) / "locks" / f"{source}_{func.__name__}.lock"

        @wraps(func)
        def wrapper(*args, **kwargs):
            lock_path.parent.mkdir(parents=True, exist_ok=True)
            with lock_path.open("a") as lock_file:
                try:
                    fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if mode == "skip" and delay == 0:
                        return None
                    fcntl.flock(lock_file, fcntl.LOCK_EX)
                    contended = True
                else:
                    contended = False
                try:
                    if contended:
                        sleep(delay)
                        if mode == "skip":
                            return None
                    return func(*args, **kwargs)
                finally:
                    fcntl.flock(lock_file, fcntl.LOCK_UN)

        return wrapper

    return decorator


def uncontended(directory, pairs):
    @lock_function(directory, mode="skip")
    def seed_skip():
        return None

    @lock_function(directory, mode="wait")
    def seed_wait():
        return None

    file_lock = filelock.FileLock(os.path.join(directory, "filelock.lock"))

    def with_filelock():
        with file_lock:
            return None

    port_lock = portalocker.Lock(os.path.join(directory, "portalocker.lock"))

    def with_portalocker():
        with port_lock:
            return None

    cases = {
        "seed, skip": seed_skip,
        "seed, wait": seed_wait,
        "filelock": with_filelock,
        "portalocker": with_portalocker,
    }
    figures = {}
    for name, call in cases.items():
        for _ in range(100):
            call()
        start = time.process_time_ns()
        for _ in range(pairs):
            call()
        figures[name] = (time.process_time_ns() - start) / pairs
    return figures


def contend(what, directory, start, seconds, hold, think):
    counter = os.path.join(directory, "counter")

    def body():
        nonlocal entered_at
        entered_at = time.perf_counter()
        with open(counter) as file:
            value = int(file.read())
        sleep(hold)
        with open(counter, "w") as file:
            file.write(str(value + 1))

    entered_at = 0.0
    if what == "seed":
        call = lock_function(directory, mode="wait")(body)
    else:
        path = os.path.join(directory, "it.lock")
        lock = (
            filelock.FileLock(path)
            if what == "filelock"
            else portalocker.Lock(path, timeout=seconds + 60)
        )

        def call():
            with lock:
                body()

    sleep(max(0.0, start - time.time()))
    end = time.perf_counter() + seconds
    entered, longest = 0, 0.0
    while time.perf_counter() < end:
        asked = time.perf_counter()
        call()
        entered += 1
        longest = max(longest, entered_at - asked)
        if think:
            sleep(think)
    return {"entered": entered, "longest_us": int(longest * 1e6)}


if __name__ == "__main__":
    if sys.argv[1] == "uncontended":
        answer = uncontended(sys.argv[2], int(sys.argv[3]))
    else:
        answer = contend(sys.argv[2], sys.argv[3], *(float(word) for word in sys.argv[4:8]))
    print(json.dumps(answer))
