"""JSON Web Tokens (RFC 7519), signed with HS256 as in RFC 7515."""
import base64
import hashlib
import hmac
import json
import time


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret, user, seconds, rooms, header=None, **claims):
    """`rooms`: the rights in each room, as in {"hall": "rwp"}."""
    payload = {"sub": user, "exp": int(time.time()) + seconds, "rooms": rooms, **claims}
    signed = f"{encoded(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{encoded(json.dumps(payload).encode())}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"
