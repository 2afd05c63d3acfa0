"""Gets of one object by the `object_store` crate: URL, requests in flight, gets; what `Measured::parse` reads."""

import asyncio
import os
import sys
import time

import obstore
from obstore.store import HTTPStore

url, in_flight, gets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = HTTPStore.from_url(url, client_options={"allow_http": True})


async def some(count):
    for _ in range(count):
        got = await obstore.get_async(store, "object")
        assert len(await got.bytes_async()) == 16 << 20


async def all_of_them():
    share, more = divmod(gets, in_flight)
    await asyncio.gather(*(some(share + (i < more)) for i in range(in_flight)))


begun, used = time.monotonic(), time.process_time()
asyncio.run(all_of_them())
print(time.monotonic() - begun, time.process_time() - used, gets, gets, 0, 0, 0)
# The interpreter's end aborts now and then, while threads of the store are still there.
sys.stdout.flush()
os._exit(0)
