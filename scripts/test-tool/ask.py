"""Sends a request: ask.py STATUS PATTERN URL [FIELD: VALUE]… [--post BODY]. Prints the answer, and ends with 0 if it matches."""
import re
import sys
import urllib.error
import urllib.request

status, pattern, url, *rest = sys.argv[1:]
body = None
if "--post" in rest:
    at = rest.index("--post")
    body, rest = rest[at + 1].encode(), rest[:at]
request = urllib.request.Request(url, data=body, headers=dict(field.split(": ", 1) for field in rest))
try:
    with urllib.request.urlopen(request, timeout=20) as answer:
        code, text = answer.status, answer.read().decode()
except urllib.error.HTTPError as error:
    code, text = error.code, error.read().decode()
print(text)
sys.exit(0 if code == int(status) and re.search(pattern, text, re.IGNORECASE) else 1)
