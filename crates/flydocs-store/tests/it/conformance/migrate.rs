//! Migrations.

use crate::place::{Place, submit};

pub(crate) async fn many_migrators_at_once_migrate_once(place: &Place) {
    let stores = place.open_many(8).await;
    let mut migrations = tokio::task::JoinSet::new();
    for store in stores.clone() {
        migrations.spawn(async move { store.migrate().await });
    }
    for migrated in migrations.join_all().await {
        migrated.unwrap();
    }
    stores[0].migrate().await.unwrap();
    submit(&*stores[1]).await;
    assert_eq!(
        place
            .number("SELECT count(*) FROM _sqlx_migrations WHERE version IN (1, 1001)")
            .await,
        2
    );
    let health = stores[0].health().await.unwrap();
    assert!(health.watches_workers && !health.version.is_empty());
}
