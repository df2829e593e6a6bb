# procrastinate peer. usage: bench.py setup|enqueue N C|drain CONC|latw OUT|late N
import asyncio, json, os, sys, time, random, logging
import procrastinate
from procrastinate import App, PsycopgConnector
url = os.environ["DATABASE_URL"]
cmd, *a = sys.argv[1:]
logging.disable(logging.CRITICAL)
S = dict(count=0, first=0.0, last=0.0, seen=set(), out=None, w="")
def mk(n):
    return App(connector=PsycopgConnector(conninfo=url, min_size=n, max_size=n))
app = mk({"enqueue": int(a[1]) if cmd == "enqueue" else 8}.get(cmd, 12))
now = lambda: time.time() * 1000
@app.task(name="noop", queue="noop")
async def noop(i, t=None):
    n = now()
    if S["out"]:
        S["out"].write(json.dumps({"e": t, "s": n}) + "\n"); S["out"].flush(); return
    if not S["count"]: S["first"] = n
    S["count"] += 1; S["seen"].add(i); S["last"] = n
async def main():
    async with app.open_async():
        if cmd == "setup":
            await app.schema_manager.apply_schema_async()
        elif cmd == "enqueue":
            N, C = int(a[0]), int(a[1]); it = iter(range(N)); t0 = time.perf_counter()
            async def lane():
                for i in it: await noop.defer_async(i=i)
            await asyncio.gather(*[lane() for _ in range(C)])
            dt = time.perf_counter() - t0
            print(json.dumps({"n": N, "secs": dt, "rate": N / dt}))
        elif cmd == "drain":
            w = asyncio.create_task(app.run_worker_async(queues=["noop"], concurrency=int(a[0]), install_signal_handlers=False))
            while not (S["count"] and now() - S["last"] > 2500): await asyncio.sleep(0.2)
            print(json.dumps({"count": S["count"], "uniq": len(S["seen"]), "first": S["first"], "last": S["last"]}), flush=True)
            w.cancel()
            try: await w
            except BaseException: pass
        elif cmd == "latw":
            S["out"] = open(a[0], "a"); await app.run_worker_async(queues=["noop"], concurrency=10)
        elif cmd == "late":
            for i in range(int(a[0])):
                await asyncio.sleep(0.1 + random.random() * 0.1); await noop.defer_async(i=i, t=now())
asyncio.run(main())
