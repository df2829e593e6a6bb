// graphile-worker peer. usage: node bench.mjs setup|enqueue N C|drain CONC [batch]|latw OUT [batch]|late N
import { run, makeWorkerUtils, Logger } from "graphile-worker";
import pg from "pg";
import fs from "fs";
const url = process.env.DATABASE_URL;
const now = () => performance.timeOrigin + performance.now();
const quiet = new Logger(() => () => {});
const [cmd, a1, a2] = process.argv.slice(2);
const pool = (max) => { const p = new pg.Pool({ connectionString: url, max }); p.on("error", () => {}); p.on("connect", c => c.on("error", () => {})); return p; };
const preset = (conc, mode) => ({ worker: {
  connectionString: url, concurrentJobs: conc, maxPoolSize: conc + 1, logger: quiet, fileExtensions: [],
  ...(mode === "batch" ? { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } : {}),
} });
if (cmd === "setup") {
  const u = await makeWorkerUtils({ connectionString: url, logger: quiet }); await u.migrate(); await u.release();
} else if (cmd === "enqueue") {
  const N = +a1, C = +a2, p = pool(C);
  const u = await makeWorkerUtils({ pgPool: p, logger: quiet });
  await Promise.all(Array.from({ length: C }, () => p.query("select pg_sleep(0.05)")));
  await u.addJob("warm", {}); await p.query("delete from graphile_worker._private_jobs");
  let i = 0; const t0 = now();
  await Promise.all(Array.from({ length: C }, async () => { while (i < N) { const k = i++; await u.addJob("noop", { i: k }); } }));
  const dt = (now() - t0) / 1000;
  console.log(JSON.stringify({ n: N, secs: dt, rate: N / dt }));
  await u.release(); await p.end();
} else if (cmd === "drain") {
  let count = 0, first = 0, last = 0; const seen = new Set();
  const t = setInterval(() => { if (count && now() - last > 2500) fin(); }, 200);
  const fin = async () => { clearInterval(t); await r.stop(); console.log(JSON.stringify({ count, uniq: seen.size, first, last })); process.exit(0); };
  const noop = async (p) => { const n = now(); if (!count) first = n; count++; seen.add(p.i); last = n; };
  const r = await run({ preset: preset(+a1, a2), taskList: { noop } });
} else if (cmd === "latw") {
  const out = fs.openSync(a1, "a");
  await run({ preset: preset(10, a2), taskList: { noop: async (p) => { fs.writeSync(out, JSON.stringify({ e: p.t, s: now() }) + "\n"); } } });
} else if (cmd === "late") {
  const p = pool(2); const u = await makeWorkerUtils({ pgPool: p, logger: quiet });
  for (let i = 0; i < +a1; i++) { await new Promise(r => setTimeout(r, 100 + Math.random() * 100)); await u.addJob("noop", { i, t: now() }); }
  await u.release(); await p.end();
}
