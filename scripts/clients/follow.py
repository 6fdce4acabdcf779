"""Follows the inbox and the monitor with httpx-sse. Environment and output are those of
follow.mjs. The library reads streams; when to connect again is its caller's, as here."""
import json
import os
import sys
import threading
import time

import httpx
from httpx_sse import connect_sse

lock = threading.Lock()


def out(**line):
    with lock:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def follow(stream, url, token):
    last, wait = "", 1.0
    while True:
        headers = {"authorization": "Bearer " + token}
        if last:
            headers["last-event-id"] = last
        try:
            with httpx.Client(timeout=httpx.Timeout(5, read=45)) as client:
                with connect_sse(client, "GET", url, headers=headers) as source:
                    if source.response.status_code != 200:
                        out(stream=stream, gone="status %d" % source.response.status_code)
                        return
                    out(stream=stream, open=True)
                    for event in source.iter_sse():
                        last = event.id
                        if event.retry is not None:
                            wait = event.retry / 1000
                        if event.event == "envelope":
                            out(stream=stream, id=event.id, data=event.data)
        except httpx.TransportError:
            pass
        time.sleep(wait)


for name, token in (("inbox", "TOKEN"), ("monitor", "ADMIN")):
    threading.Thread(target=follow, args=(name, os.environ[name.upper()], os.environ[token])).start()
