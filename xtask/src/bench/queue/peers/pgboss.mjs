// pg-boss peer. MODE env/arg: default | concurrency-only variants, see workOpts.
import { PgBoss } from "pg-boss";
import fs from "fs";
const url = process.env.DATABASE_URL;
const now = () => performance.timeOrigin + performance.now();
const [cmd, a1, a2, a3] = process.argv.slice(2);
const mk = async (max, extra = {}) => { const b = new PgBoss({ connectionString: url, max, ...extra }); b.on("error", e => console.error("ERR", e.message)); await b.start(); return b; };
const bg = { supervise: false, schedule: false };
// default: what the docs' work() gives with concurrency 10 (2 s poll, batch 1); burst1: 10 fetch loops of batch 1 that never sleep while there is work;
// burst50: 10 loops of batch 50; notify: LISTEN/NOTIFY wake-up.
const workOpts = {
  default: { localConcurrency: 10 },
  burst1: { localConcurrency: 10, burstWhenReadyExceeds: 1 },
  batch10: { localConcurrency: 1, batchSize: 10, burstWhenBatchFull: true },
  burst50: { localConcurrency: 10, batchSize: 50, burstWhenBatchFull: true },
  notify: { localConcurrency: 10 },
};
const Q = process.env.Q || "noop";
if (cmd === "setup") {
  const b = await mk(4); await b.createQueue("noop"); await b.createQueue("noopn", { notify: true });
  await b.stop({ graceful: false });
} else if (cmd === "enqueue") {
  const N = +a1, C = +a2; const b = await mk(C, bg);
  await Promise.all(Array.from({ length: C }, () => b.getDb().executeSql("select pg_sleep(0.05)", [])));
  let i = 0; const t0 = now();
  await Promise.all(Array.from({ length: C }, async () => { while (i < N) { const k = i++; await b.send(Q, { i: k }); } }));
  const dt = (now() - t0) / 1000;
  console.log(JSON.stringify({ n: N, secs: dt, rate: N / dt }));
  await b.getQueueStats(Q, { force: true }).catch(() => {});
  await b.stop({ graceful: false }); process.exit(0);
} else if (cmd === "drain") {
  const max = +(a3 || 0); let count = 0, first = 0, last = 0; const seen = new Set();
  const b = await mk(11, { useListenNotify: a2 === "notify" });
  const idle = a2 === "default" ? 5000 : 2500;
  const fin = () => { clearInterval(t); console.log(JSON.stringify({ count, uniq: seen.size, first, last })); process.exit(0); };
  const t = setInterval(() => { if (count && (now() - last > idle || (max && now() - first > max * 1000))) fin(); }, 200);
  await b.work(Q, workOpts[a2], async (jobs) => { for (const j of jobs) { const n = now(); if (!count) first = n; count++; seen.add(j.data.i); last = n; } });
} else if (cmd === "latw") {
  const out = fs.openSync(a1, "a"); const b = await mk(11, { useListenNotify: a2 === "notify" });
  await b.work(Q, workOpts[a2], async (jobs) => { for (const j of jobs) fs.writeSync(out, JSON.stringify({ e: j.data.t, s: now() }) + "\n"); });
} else if (cmd === "late") {
  const b = await mk(2, bg);
  for (let i = 0; i < +a1; i++) { await new Promise(r => setTimeout(r, (+process.env.LATGAP || 100) * (1 + Math.random()))); await b.send(Q, { i, t: now() }); }
  await b.stop({ graceful: false }); process.exit(0);
}
