// apalis-postgres peer. usage: apalis-bench setup|enqueue N C|drain CONC MODE|latw OUT MODE|late N
use apalis::prelude::*;
use apalis_postgres::{Config, *};
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, io::Write, sync::{Arc, Mutex, atomic::{AtomicUsize, Ordering}}, time::{Duration, SystemTime, UNIX_EPOCH}};
#[derive(Serialize, Deserialize, Clone, Debug)]
struct Noop { i: u64, t: f64 }
fn now() -> f64 { SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0 }
#[derive(Default)]
struct St { count: u64, first: f64, last: f64, seen: HashSet<u64>, out: Option<std::fs::File> }
type S = Arc<Mutex<St>>;
async fn noop(p: Noop, st: Data<S>) -> Result<(), BoxDynError> {
    let n = now(); let mut s = st.lock().unwrap();
    if s.out.is_some() { let l = format!("{{\"e\":{},\"s\":{}}}\n", p.t, n); s.out.as_mut().unwrap().write_all(l.as_bytes())?; return Ok(()); }
    if s.count == 0 { s.first = n; } s.count += 1; s.last = n; s.seen.insert(p.i); Ok(())
}
// mode: "poll" = plain PostgresStorage as in README basic example; "notify" = with_pubsub + 1 s poll; "batch100" = notify + batch_size 100, lock_tasks(false)
fn cfg(q: &str, mode: &str) -> Config {
    let c = Config::default().queue(q);
    match mode { "batch100" => c.batch_size(100).lock_tasks(false), _ => c }
}
macro_rules! go { ($pool:expr, $q:expr, $mode:expr, $name:expr, $conc:expr, $st:expr, $f:expr) => {{
    let b = PostgresStorage::<Noop>::new(&$pool).with_config(cfg($q, $mode));
    match $mode {
        "poll" => WorkerBuilder::new($name).backend(b.poll_with_interval(Duration::from_secs(1))).data($st).concurrency($conc).parallelize(tokio::spawn).build($f).run().await.unwrap(),
        "bare" => WorkerBuilder::new($name).backend(b).data($st).concurrency($conc).parallelize(tokio::spawn).build($f).run().await.unwrap(),
        _ => WorkerBuilder::new($name).backend(b.with_pubsub().poll_with_interval(Duration::from_secs(1))).data($st).concurrency($conc).parallelize(tokio::spawn).build($f).run().await.unwrap(),
    }
}}}
#[tokio::main]
async fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let url = std::env::var("DATABASE_URL").unwrap();
    let n = match a[0].as_str() { "enqueue" => a[2].parse().unwrap(), _ => 12 };
    let pool = sqlx::postgres::PgPoolOptions::new().min_connections(n).max_connections(n).connect(&url).await.unwrap();
    let st: S = Arc::new(Mutex::new(St::default()));
    let name = format!("w-{}", std::process::id());
    match a[0].as_str() {
        "setup" => { PostgresStorage::setup(&pool).await.unwrap(); }
        "enqueue" => {
            let total: usize = a[1].parse().unwrap(); let c: usize = a[2].parse().unwrap(); let ctr = Arc::new(AtomicUsize::new(0));
            let t0 = now(); let mut hs = vec![];
            for _ in 0..c { let pool = pool.clone(); let ctr = ctr.clone(); hs.push(tokio::spawn(async move {
                let mut b = PostgresStorage::<Noop>::new(&pool).with_config(Config::default().queue("noop"));
                loop { let i = ctr.fetch_add(1, Ordering::Relaxed); if i >= total { break; } b.push(Noop { i: i as u64, t: 0.0 }).await.unwrap(); }
            })); }
            for h in hs { h.await.unwrap(); }
            let dt = (now() - t0) / 1000.0; println!("{{\"n\":{},\"secs\":{},\"rate\":{}}}", total, dt, total as f64 / dt);
        }
        "drain" => {
            let s2 = st.clone();
            std::thread::spawn(move || loop { std::thread::sleep(Duration::from_millis(200)); let s = s2.lock().unwrap();
                if s.count > 0 && now() - s.last > 4000.0 { println!("{{\"count\":{},\"uniq\":{},\"first\":{},\"last\":{}}}", s.count, s.seen.len(), s.first, s.last); std::process::exit(0); } });
            let conc: usize = a[1].parse().unwrap();
            go!(pool, "noop", a[2].as_str(), name.as_str(), conc, st.clone(), noop);
        }
        "latw" => { st.lock().unwrap().out = Some(std::fs::OpenOptions::new().create(true).append(true).open(&a[1]).unwrap()); go!(pool, "noop", a[2].as_str(), name.as_str(), 10, st.clone(), noop); }
        "late" => { let total: usize = a[1].parse().unwrap(); let mut b = PostgresStorage::<Noop>::new(&pool).with_config(Config::default().queue("noop"));
            for i in 0..total { let r = (SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() / 1000) % 100; tokio::time::sleep(Duration::from_millis(100 + r as u64)).await; b.push(Noop { i: i as u64, t: now() }).await.unwrap(); } }
        x => panic!("{x}"),
    }
}
