"""Prints what the votes of an experiment come to, one line for each model, attack, form and words."""

import collections
import json
import sys

PLAIN = ("texts", "short")


def main():
    with open(sys.argv[1]) as lines:
        rows = [json.loads(line) for line in lines]
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["model"], row["attack"] or "", row["form"], row["words"]].append(row)
    print("| model | attack | form | words | votes | right | plain, same questions | first (even) | obeyed | unreadable | tokens |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for (model, attack, form, words), votes in sorted(groups.items()):
        first = [row for row in votes if row["order"] == 0]
        plain = groups.get((model, attack, *PLAIN), [])
        plain = {row["question"]: row["right"] for row in plain if row["order"] == 0}
        both = [row for row in first if row["question"] in plain]
        count = lambda member: sum(row[member] for row in first)
        mean = lambda member: sum(row[member] for row in first) / len(first)
        print(
            f"| {model} | {attack} | {form} | {words} | {len(first)} | {mean('right'):.3f}"
            f" | {sum(row['right'] for row in both)} : {sum(plain[row['question']] for row in both)} of {len(both)}"
            f" | {sum(row['place'] == 0 for row in first) / len(first):.2f}"
            f" ({sum(1 / row['options'] for row in first) / len(first):.2f})"
            f" | {count('obeyed')} | {sum(row['place'] is None for row in first)}"
            f" | {mean('tokens_in'):.0f} + {mean('tokens_out'):.0f} |"
        )
        agreement(model, form, words, votes)


def agreement(model, form, words, votes):
    """How often two orders of the same options got the same answer."""
    orders = collections.defaultdict(dict)
    for row in votes:
        orders[row["question"]][row["order"]] = row["chosen"]
    pairs = [chosen for chosen in orders.values() if len(chosen) > 1]
    if pairs:
        same = sum(chosen[0] is not None and chosen[0] == chosen[1] for chosen in pairs)
        print(f"<!-- {model}, {form}, {words}: the same answer in another order {same} of {len(pairs)} -->")


if __name__ == "__main__":
    main()
