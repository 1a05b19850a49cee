"""Reads events of several subscriptions with gql, and prints the processor time per event.

    client.py URL SUBSCRIPTIONS EVENTS
"""
import asyncio
import resource
import sys

from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport

QUERY = "subscription S($to: Int!) { count(to: $to, delayMs: 0) }"


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def follow(session, query, events):
    return sum([result["count"] async for result in session.subscribe(query)])


async def main(url, subscriptions, events):
    async with Client(transport=WebsocketsTransport(url), fetch_schema_from_transport=False) as session:
        query = gql(QUERY)
        query.variable_values = {"to": events}
        start = processor_time()
        sums = await asyncio.gather(*(follow(session, query, events) for _ in range(subscriptions)))
        assert all(each == events * (events - 1) // 2 for each in sums)
        print("microseconds", (processor_time() - start) * 1e6 / (subscriptions * events))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
