"""Makes a container in an Azure emulator: make_container.py ACCOUNT_URL NAME, with OBJECTS_ID and
OBJECTS_SECRET. Containers are made by whoever keeps the account, so `objectstore` makes none."""

import base64
import email.utils
import hashlib
import hmac
import os
import sys
import urllib.parse
import urllib.request

url, name = sys.argv[1:]
account, key = os.environ["OBJECTS_ID"], base64.b64decode(os.environ["OBJECTS_SECRET"])
path = urllib.parse.urlparse(url).path + "/" + name
headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
own = "".join(f"{header}:{headers[header]}\n" for header in sorted(headers))
text = "PUT" + "\n" * 12 + own + f"/{account}{path}\nrestype:container"
signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
headers["Authorization"] = f"SharedKey {account}:{signature}"
request = urllib.request.Request(f"{url}/{name}?restype=container", method="PUT", headers=headers)
with urllib.request.urlopen(request) as answer:
    sys.exit(answer.status != 201)
