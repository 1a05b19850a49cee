"""Reads a /metrics page with Prometheus' own parser. Arguments: its URL, and the number and size of the echoed messages."""
import sys, time, urllib.error, urllib.request
from prometheus_client.parser import text_string_to_metric_families

url, messages, payload = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def fetch(path=""):
    with urllib.request.urlopen(url + path, timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()

def read():
    families = {family.name: family for family in text_string_to_metric_families(fetch()[1])}
    samples = {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families.values() for s in family.samples}
    return families, samples

def value(name, **labels):
    return samples.get(("holdfast_server_" + name, tuple(sorted(labels.items()))))

# A client may end before the server has counted its end.
end = time.monotonic() + 20
while True:
    families, samples = read()
    if value("connections_open") == 0 and value("closes_total", code="1000") or time.monotonic() > end:
        break
    time.sleep(0.05)

assert fetch()[0] == "text/plain; version=0.0.4; charset=utf-8"
print(*sorted(samples.items()), sep="\n")
connections = value("connections_total")
assert connections and value("closes_total", code="1000") == connections and value("connections_open") == 0
assert value("messages_in_total") == value("messages_out_total") == messages
assert value("payload_bytes_in_total") == value("payload_bytes_out_total") == payload
assert value("bytes_in_total") > value("bytes_out_total") > payload, "frames have headers, and a client's a mask"
assert value("connections_refused_total", reason="declined") == 0
kinds = {name.removeprefix("holdfast_server_"): family.type for name, family in families.items()}
assert kinds["connections_open"] == "gauge" and kinds["bytes_in"] == "counter" and kinds["handshake_duration_seconds"] == "histogram"
buckets = sorted(
    (float(dict(labels)["le"]), count) for (name, labels), count in samples.items()
    if name == "holdfast_server_handshake_duration_seconds_bucket")
assert [count for _, count in buckets] == sorted(count for _, count in buckets) and buckets[-1] == (float("inf"), connections)
assert value("handshake_duration_seconds_count") == connections and value("handshake_duration_seconds_sum") > 0
try:
    fetch("/more")
    raise SystemExit("there is another page")
except urllib.error.HTTPError as error:
    assert error.code == 404
