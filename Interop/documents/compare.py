"""Compares what the clients of run.sh print in the end: the same text and map, every word once, and everyone has seen the others.

    compare.py FILE…      a JSON object in the last line of each
"""
import json
import sys

ends = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ends.append(json.loads(file.read().splitlines()[-1]))
names = sorted(end["name"] for end in ends)
problems = []
for end in ends:
    if end["text"] != ends[0]["text"]:
        problems.append(f"{end['name']} has another text than {ends[0]['name']}")
    if end["map"] != ends[0]["map"] or sorted(end["map"]) != names:
        problems.append(f"{end['name']} has another map: {end['map']}")
    if end["others"] != [name for name in names if name != end["name"]]:
        problems.append(f"{end['name']} has seen {end['others']}")
# Each word was typed once. Deletions take single characters out of about a fifth of them.
for name in names:
    for word in [f"({name} offline {number})" for number in range(5)]:
        if ends[0]["text"].count(word) > 1:
            problems.append(f"{word} is there twice")
if len(ends[0]["text"]) < 1000:
    problems.append(f"only {len(ends[0]['text'])} characters")
print("\n".join(problems) or f"{len(ends[0]['text'])} characters, {names}")
sys.exit(bool(problems))
