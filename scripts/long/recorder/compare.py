"""Prints the responses of a recording that no earlier recording has: compare.py AFTER BEFORE [BEFORE ...]

Several recordings of the build before show which responses differ between two runs of one build: fewer than five. The counts
are also written to summary.json beside this file.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path


def read(path):
    """The responses by request. A request that was sent twice has two responses."""
    responses = collections.defaultdict(list)
    for line in open(path, encoding="utf-8"):
        of = json.loads(line)
        request = json.dumps({name: of.pop(name) for name in ["on", "request", "with", "body", "note", "command"] if name in of}, sort_keys=True)
        responses[request].append(of)
    return responses


after, *before = (read(path) for path in sys.argv[1:])
requests = dict.fromkeys([*before[0], *after])
same = 0
for request in requests:
    new, old = after.get(request), [of[request] for of in before if request in of]
    if new in old:
        same += 1
    elif new is None or not old:
        print(f"only {'before' if new is None else 'after'}: {request}")
    else:
        print(f"differs: {request}")
        for one, other in zip(old[0], new):
            for name in sorted(one.keys() | other.keys()):
                if one.get(name) != other.get(name):
                    first, second = (json.dumps(of.get(name), ensure_ascii=False) for of in (one, other))
                    at = next((at for at, pair in enumerate(zip(first, second)) if pair[0] != pair[1]), min(len(first), len(second)))
                    print(f"  {name}: …{first[max(0, at - 60):at + 140]}\n  {' ' * len(name)}  …{second[max(0, at - 60):at + 140]}")
print(f"{same} of {len(requests)} requests have the same responses")
ran = subprocess.check_output([Path(__file__).resolve().parent.with_name("summaries"), "stamp", "recorder"])
summary = {
    **json.loads(ran),
    "responses": [sum(map(len, of.values())) for of in (after, *before)],
    "requests": len(requests),
    "same": same,
    "different": len(requests) - same,
}
Path(__file__).with_name("summary.json").write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
