//! How statements reach the server: on a pooled connection as they are, or, behind a transaction-mode pooler,
//! each in a transaction of its own with unnamed statements, because two messages outside a transaction may
//! reach two different sessions.

use std::ops::{Deref, DerefMut};

use sqlx::{
    PgConnection, PgPool, Postgres, Transaction,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    query::Query,
};

/// The pool and what stands before the server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) pool: PgPool,
    pub(super) pooler: bool,
}

pub(super) enum Session {
    Plain(PoolConnection<Postgres>),
    Transaction(Transaction<'static, Postgres>),
}

impl Server {
    pub(super) fn query(&self, sql: &'static str) -> Query<'static, Postgres, PgArguments> {
        sqlx::query(sql).persistent(!self.pooler)
    }

    /// For one statement.
    pub(super) async fn session(&self) -> sqlx::Result<Session> {
        if self.pooler {
            self.transaction().await.map(Session::Transaction)
        } else {
            self.pool.acquire().await.map(Session::Plain)
        }
    }

    pub(super) async fn transaction(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        self.pool.begin().await
    }

    pub(super) async fn fetch_all(
        &self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> sqlx::Result<Vec<PgRow>> {
        let mut session = self.session().await?;
        let rows = query.fetch_all(&mut *session).await?;
        session.finish().await?;
        Ok(rows)
    }

    pub(super) async fn fetch_one(
        &self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> sqlx::Result<PgRow> {
        let mut session = self.session().await?;
        let row = query.fetch_one(&mut *session).await?;
        session.finish().await?;
        Ok(row)
    }

    /// How many rows it changed.
    pub(super) async fn execute(
        &self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> sqlx::Result<u64> {
        let mut session = self.session().await?;
        let done = query.execute(&mut *session).await?;
        session.finish().await?;
        Ok(done.rows_affected())
    }
}

impl Session {
    pub(super) async fn finish(self) -> sqlx::Result<()> {
        match self {
            Self::Plain(_connection) => Ok(()),
            Self::Transaction(transaction) => transaction.commit().await,
        }
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Plain(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Plain(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}
