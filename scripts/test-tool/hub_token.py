"""Prints a token signed with HS256 that ends in an hour. Arguments: a file with the secret, the user, and the rights in all rooms."""
import base64, hashlib, hmac, json, sys, time


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


secret, user, rights = open(sys.argv[1], "rb").read(), sys.argv[2], sys.argv[3]
parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": user, "exp": int(time.time()) + 3600, "rooms": {"*": rights}}]
text = b".".join(encoded(json.dumps(part).encode()) for part in parts)
print((text + b"." + encoded(hmac.digest(secret, text, hashlib.sha256))).decode())
