//! Whether a pooler stands between us and the server that hands out its sessions transaction by transaction.
//!
//! Two direct connections are two sessions, each always the same. Behind such a pooler, idle connections share one.

use std::time::Duration;

use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, Row as _, postgres::PgConnectOptions,
};

const ROUNDS: usize = 4;

pub(super) async fn hands_out_sessions(
    connect: &PgConnectOptions,
    limit: Duration,
) -> sqlx::Result<bool> {
    let look = async {
        let mut one = connect.connect().await?;
        let mut two = connect.connect().await?;
        let mut sessions = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            sessions.push((session(&mut one).await?, session(&mut two).await?));
        }
        one.close().await?;
        two.close().await?;
        Ok::<_, sqlx::Error>(sessions)
    };
    let sessions = match tokio::time::timeout(limit, look).await {
        Ok(sessions) => sessions?,
        Err(_) => return Err(sqlx::Error::PoolTimedOut),
    };
    Ok(sessions.iter().any(|(one, two)| one == two) || sessions.windows(2).any(|w| w[0] != w[1]))
}

/// The simple protocol: nothing is prepared, so nothing can be looked for in another session.
async fn session(connection: &mut PgConnection) -> sqlx::Result<i32> {
    let row =
        sqlx::Executor::fetch_one(connection, sqlx::raw_sql("SELECT pg_backend_pid()")).await?;
    row.try_get(0)
}
