"""The peers of `cargo xtask bench ground`: RapidFuzz over the same values and pages.

`partial_ratio_alignment` takes the page as one string; `ratio` compares every window of consecutive words
(1 to max(3n, n+2) words) and keeps the best, with a score cut-off that rises with it.
"""

import json
import sys
import time

from rapidfuzz import fuzz

KINDS = {"literal": 0, "noisy": 1, "absent": 2}


def partial(words, values, cutoff):
    page = " ".join(words).casefold()
    for value in values:
        yield fuzz.partial_ratio_alignment(value["text"].casefold(), page, score_cutoff=cutoff) is not None


def windows(words, values, cutoff):
    folded = [word.casefold() for word in words]
    for value in values:
        target = value["text"].casefold()
        n = len(target.split(" "))
        best, place = cutoff, None
        for start in range(len(folded)):
            window = ""
            for end in range(start, min(len(folded), start + max(3 * n, n + 2))):
                window = folded[end] if end == start else window + " " + folded[end]
                score = fuzz.ratio(target, window, score_cutoff=best)
                if score >= best and (place is None or score > best):
                    best, place = score, (start, end)
        yield place is not None


def measure(name, find, work):
    found = [0, 0, 0]
    start = time.perf_counter()
    for page in work["pages"]:
        for value, hit in zip(page["values"], find(page["words"], page["values"], 100 * work["threshold"])):
            found[KINDS[value["kind"]]] += hit
    return {"name": name, "seconds": time.perf_counter() - start, "found": found}


with open(sys.argv[1], encoding="utf-8") as file:
    work = json.load(file)
print(
    json.dumps(
        [
            measure("rapidfuzz partial_ratio_alignment", partial, work),
            measure("rapidfuzz ratio over windows", windows, work),
        ]
    )
)
