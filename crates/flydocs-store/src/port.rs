//! [`Store`] for every [`SqlStore`]: each method is found in the file of its concern.

use std::time::Duration;

use async_trait::async_trait;
use flydocs_contract::{ExtractionId, status::ExtractionError};
use uuid::Uuid;

use crate::{
    blob::{BlobId, BlobInfo, Download, Upload},
    change::{DeliveryWatch, Watch},
    claim::{
        Beat, Beaten, CancelRequested, Claimed, LegClaimed, LegToken, Requeue, Retried, Token,
    },
    conflict::undisturbed,
    dialect::Dialect,
    error::Result,
    listing::{Counts, Filter, Listed},
    options::Options,
    orphan::{Orphan, OrphanClass, OrphanCursor, Reannounced},
    row::{Moment, Stored},
    sql_store::SqlStore,
    store::{Health, Retained, Store, Wake},
    submission::{NewExtraction, StoredRequest, Submitted},
    webhook::{AfterAttempt, AttemptReport, Delivery, DeliveryClaim, DeliveryToken, DueDelivery},
    worker::{Worker, WorkerLiveness},
};

#[async_trait]
impl<D: Dialect> Store for SqlStore<D> {
    fn options(&self) -> &Options {
        &self.options
    }

    fn on_published(&self, wake: Wake) {
        Self::on_published(self, wake);
    }

    async fn migrate(&self) -> Result<()> {
        self.db.migrate().await
    }

    async fn health(&self) -> Result<Health> {
        Self::health(self).await
    }

    async fn close(&self) {
        self.db.close().await;
    }

    async fn submit(&self, new: NewExtraction) -> Result<Submitted> {
        undisturbed(|| Self::submit(self, new.clone())).await
    }

    async fn get(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Option<Stored>> {
        Self::get(self, id, tenant).await
    }

    async fn request(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<StoredRequest>> {
        Self::request(self, id, tenant).await
    }

    async fn result(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Option<String>> {
        Self::result(self, id, tenant).await
    }

    async fn list(&self, filter: &Filter) -> Result<Listed> {
        Self::list(self, filter).await
    }

    async fn history(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
        after_revision: u64,
    ) -> Result<Vec<Moment>> {
        Self::history(self, id, tenant, after_revision).await
    }

    fn watch(&self, id: ExtractionId) -> Watch {
        self.changes.watch(id)
    }

    fn watch_deliveries(&self) -> DeliveryWatch {
        self.changes.watch_deliveries()
    }

    async fn mark_cancelled(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::mark_cancelled(self, id, tenant)).await
    }

    async fn request_cancel(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<CancelRequested> {
        undisturbed(|| Self::request_cancel(self, id, tenant)).await
    }

    async fn retry(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Retried> {
        undisturbed(|| Self::retry(self, id, tenant)).await
    }

    async fn mark_running(&self, id: ExtractionId, worker: &str) -> Result<Claimed> {
        undisturbed(|| Self::mark_running(self, id, worker)).await
    }

    async fn mark_succeeded(
        &self,
        token: &Token,
        result: &str,
        wants_bbox: bool,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::mark_succeeded(self, token, result, wants_bbox)).await
    }

    async fn mark_failed(&self, token: &Token, error: &ExtractionError) -> Result<Option<Stored>> {
        undisturbed(|| Self::mark_failed(self, token, error)).await
    }

    async fn requeue_for_retry(&self, token: &Token, requeue: &Requeue) -> Result<Option<Stored>> {
        undisturbed(|| Self::requeue_for_retry(self, token, requeue)).await
    }

    async fn give_back(&self, token: &Token) -> Result<Option<Stored>> {
        undisturbed(|| Self::give_back(self, token)).await
    }

    async fn settle_cancelled(&self, token: &Token) -> Result<Option<Stored>> {
        undisturbed(|| Self::settle_cancelled(self, token)).await
    }

    async fn heartbeat(&self, beats: &[Beat]) -> Result<Vec<Beaten>> {
        undisturbed(|| Self::heartbeat(self, beats)).await
    }

    async fn start_bbox_refinement(&self, id: ExtractionId) -> Result<Option<Stored>> {
        undisturbed(|| Self::start_bbox_refinement(self, id)).await
    }

    async fn mark_bbox_refinement_running(
        &self,
        id: ExtractionId,
        worker: &str,
    ) -> Result<LegClaimed> {
        undisturbed(|| Self::mark_bbox_refinement_running(self, id, worker)).await
    }

    async fn mark_bbox_refinement_succeeded(
        &self,
        token: &LegToken,
        result: &str,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::mark_bbox_refinement_succeeded(self, token, result)).await
    }

    async fn mark_bbox_refinement_failed(
        &self,
        token: &LegToken,
        error: &ExtractionError,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::mark_bbox_refinement_failed(self, token, error)).await
    }

    async fn requeue_bbox_refinement(
        &self,
        token: &LegToken,
        requeue: &Requeue,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::requeue_bbox_refinement(self, token, requeue)).await
    }

    async fn requeue_pending_bbox_refinement(
        &self,
        id: ExtractionId,
        requeue: &Requeue,
    ) -> Result<Option<Stored>> {
        undisturbed(|| Self::requeue_pending_bbox_refinement(self, id, requeue)).await
    }

    async fn give_back_bbox_refinement(&self, token: &LegToken) -> Result<Option<Stored>> {
        undisturbed(|| Self::give_back_bbox_refinement(self, token)).await
    }

    async fn register_worker(&self, name: &str) -> Result<WorkerLiveness> {
        self.db.register_worker(name).await
    }

    async fn sign_off(&self, worker: WorkerLiveness) -> Result<()> {
        Self::sign_off(self, worker).await
    }

    async fn sweep_workers(&self) -> Result<Vec<String>> {
        self.bury(None).await
    }

    async fn workers(&self) -> Result<Vec<Worker>> {
        Self::workers(self).await
    }

    async fn orphans(
        &self,
        class: OrphanClass,
        after: Option<&OrphanCursor>,
        limit: u32,
    ) -> Result<Vec<Orphan>> {
        Self::orphans(self, class, after, limit).await
    }

    async fn reannounce(&self, orphan: &Orphan) -> Result<Reannounced> {
        undisturbed(|| Self::reannounce(self, orphan)).await
    }

    async fn reclaim(&self, id: ExtractionId) -> Result<Option<Stored>> {
        undisturbed(|| Self::reclaim(self, id)).await
    }

    async fn counts(&self) -> Result<Counts> {
        Self::counts(self).await
    }

    async fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<Vec<DueDelivery>> {
        undisturbed(|| Self::claim_deliveries(self, claim)).await
    }

    async fn settle_delivery(
        &self,
        token: &DeliveryToken,
        report: &AttemptReport,
        after: AfterAttempt,
    ) -> Result<bool> {
        undisturbed(|| Self::settle_delivery(self, token, report, after)).await
    }

    async fn keep_deliveries(&self, tokens: &[DeliveryToken], lease: Duration) -> Result<u64> {
        undisturbed(|| Self::keep_deliveries(self, tokens, lease)).await
    }

    async fn give_back_deliveries(&self, tokens: &[DeliveryToken]) -> Result<u64> {
        undisturbed(|| Self::give_back_deliveries(self, tokens)).await
    }

    async fn redeliver(&self, event_id: Uuid, tenant: Option<&str>) -> Result<Option<Delivery>> {
        undisturbed(|| Self::redeliver(self, event_id, tenant)).await
    }

    async fn deliveries(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Vec<Delivery>>> {
        Self::deliveries(self, id, tenant).await
    }

    async fn next_delivery_in(&self) -> Result<Option<Duration>> {
        Self::next_delivery_in(self).await
    }

    async fn put_blob(&self, upload: Upload<'_>) -> Result<BlobInfo> {
        Self::put_blob(self, upload).await
    }

    async fn get_blob(&self, id: &BlobId) -> Result<Option<Download>> {
        Self::get_blob(self, id).await
    }

    async fn retain(&self, batch: u32) -> Result<Retained> {
        undisturbed(|| Self::retain(self, batch)).await
    }
}
