//! The world of the model: rows, the outbox, the group's deliveries, workers; and everything that can happen to them.

use flydocs_contract::status::{MOVES, Status};

const WORKERS: usize = 2;
/// `FLYDOCS_JOB_MAX_ATTEMPTS`.
const ATTEMPTS: u8 = 2;

/// How much may happen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) rows: usize,
    pub(super) crashes: u8,
    /// How often somebody who lives is taken for dead.
    pub(super) suspicions: u8,
    /// How often work fails for a while, or is given back by a worker that ends.
    pub(super) retries: u8,
    pub(super) cancels: u8,
}

/// What is wrong with the design, on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// A settlement asks only whether the row is running.
    NoFence,
    /// The event of the end is written before the end.
    EventApart,
    /// The drain remembers the highest number it saw, not the oldest transaction still open.
    DrainByNumber,
    /// A delivery counts as done when it is claimed, and no reaper looks after it.
    DoneFirst,
    /// A row that somebody else has counts as handled, and no reaper looks after it.
    HeldIsDone,
}

/// A process, which never comes back under the same name.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
pub(super) struct Process {
    slot: usize,
    life: u8,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(super) struct Row {
    /// None until its submission commits.
    pub(super) status: Option<Status>,
    pub(super) fence: u8,
    pub(super) attempts: u8,
    pub(super) holder: Option<Process>,
    /// Its heartbeats are late, or its lease is over, though its worker may live.
    suspected: bool,
    /// Results that were accepted: whose attempt it was, and who had the claim.
    pub(super) accepted: Vec<(u8, u8)>,
}

#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
pub(super) enum Tx {
    Open,
    Committed,
    RolledBack,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) row: usize,
    pub(super) fence: u8,
    /// What it says of the row: queued is `extraction.submitted`, an end is `extraction.completed`.
    pub(super) status: Status,
    /// Numbers are given before the commit, in the order of the beginnings.
    number: u8,
    pub(super) tx: Tx,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) event: usize,
    holder: Option<Process>,
    pub(super) done: bool,
    /// The row's fence when somebody else had it: not due before that changes.
    held_at: Option<u8>,
}

#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
enum Step {
    Idle,
    Has(usize),
    Runs {
        delivery: usize,
        fence: u8,
        attempt: u8,
        announced: bool,
    },
    Settles(usize),
}

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
struct Worker {
    life: u8,
    step: Step,
}

/// Everything, at one moment.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(super) struct World {
    pub(super) rows: Vec<Row>,
    pub(super) outbox: Vec<Event>,
    pub(super) deliveries: Vec<Delivery>,
    workers: Vec<Worker>,
    /// Everything below is final and drained.
    low: u8,
    crashes: u8,
    suspicions: u8,
    retries: u8,
    cancels: u8,
    /// A move that the contract does not know.
    pub(super) illegal: bool,
}

/// What can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Begin(usize),
    Commit(usize),
    RollBack(usize),
    Drain,
    Claim { worker: usize, delivery: usize },
    MarkRunning(usize),
    Announce(usize),
    Succeed(usize),
    Requeue(usize),
    GiveBack(usize),
    Settle(usize),
    Crash(usize),
    Suspect(usize),
    LeaseEnds(usize),
    Cancel(usize),
    Reap(usize),
}

impl World {
    pub(super) fn new(budget: Budget) -> Self {
        let row = Row {
            status: None,
            fence: 0,
            attempts: 0,
            holder: None,
            suspected: false,
            accepted: Vec::new(),
        };
        Self {
            rows: vec![row; budget.rows],
            outbox: Vec::new(),
            deliveries: Vec::new(),
            workers: vec![
                Worker {
                    life: 0,
                    step: Step::Idle
                };
                WORKERS
            ],
            low: 0,
            crashes: budget.crashes,
            suspicions: budget.suspicions,
            retries: budget.retries,
            cancels: budget.cancels,
            illegal: false,
        }
    }

    /// Everything that can happen now.
    pub(super) fn acts(&self, fault: Fault) -> Vec<Act> {
        let mut acts = self.progress(fault);
        let begun = |row: usize| self.outbox.iter().any(|event| event.row == row);
        for (row, state) in self.rows.iter().enumerate() {
            // In one order: it does not matter which of them is called the first.
            if !begun(row) && (row == 0 || begun(row - 1)) {
                acts.push(Act::Begin(row));
            }
            if state.status == Some(Status::Queued) && self.cancels > 0 {
                acts.push(Act::Cancel(row));
            }
            if state.status == Some(Status::Running) && !self.is_lost(row) && self.suspicions > 0 {
                acts.push(Act::Suspect(row));
            }
        }
        for (event, state) in self.outbox.iter().enumerate() {
            if state.tx == Tx::Open {
                acts.push(Act::RollBack(event));
            }
        }
        for (delivery, state) in self.deliveries.iter().enumerate() {
            if self.suspicions > 0 && state.holder.is_some_and(|holder| self.lives(holder)) {
                acts.push(Act::LeaseEnds(delivery));
            }
        }
        for (worker, state) in self.workers.iter().enumerate() {
            if state.step != Step::Idle && self.crashes > 0 {
                acts.push(Act::Crash(worker));
            }
            if matches!(state.step, Step::Runs { .. }) && self.retries > 0 {
                acts.extend([Act::Requeue(worker), Act::GiveBack(worker)]);
            }
        }
        acts
    }

    /// What happens by itself, sooner or later: nobody has to be unlucky for it, and none of it can go round in a
    /// circle. When nothing of it is left, the world is at rest.
    pub(super) fn progress(&self, fault: Fault) -> Vec<Act> {
        let mut acts = Vec::new();
        for (event, state) in self.outbox.iter().enumerate() {
            if state.tx == Tx::Open {
                acts.push(Act::Commit(event));
            }
        }
        if !self.undrained(fault).is_empty() {
            acts.push(Act::Drain);
        }
        for (delivery, state) in self.deliveries.iter().enumerate() {
            if state.holder.is_some_and(|holder| !self.lives(holder)) {
                acts.push(Act::LeaseEnds(delivery));
            }
        }
        for (worker, state) in self.workers.iter().enumerate() {
            match state.step {
                Step::Idle => acts.extend(
                    (0..self.deliveries.len())
                        .filter(|delivery| self.is_due(*delivery))
                        .map(|delivery| Act::Claim { worker, delivery }),
                ),
                Step::Has(_) => acts.push(Act::MarkRunning(worker)),
                Step::Runs {
                    announced: false, ..
                } if fault == Fault::EventApart => {
                    acts.push(Act::Announce(worker));
                }
                Step::Runs { .. } => acts.push(Act::Succeed(worker)),
                Step::Settles(_) => acts.push(Act::Settle(worker)),
            }
        }
        let reaped = !matches!(fault, Fault::DoneFirst | Fault::HeldIsDone);
        for row in 0..self.rows.len() {
            let orphan = match self.rows[row].status {
                Some(Status::Queued) => true,
                Some(Status::Running) => self.is_lost(row),
                _ => false,
            };
            if reaped && orphan && !self.is_announced(row, fault) {
                acts.push(Act::Reap(row));
            }
        }
        acts
    }

    /// The world after it.
    pub(super) fn after(&self, act: Act, fault: Fault) -> Self {
        let mut next = self.clone();
        match act {
            Act::Begin(row) => next.write(row, Status::Queued, Tx::Open),
            Act::Commit(event) => {
                next.outbox[event].tx = Tx::Committed;
                next.rows[self.outbox[event].row].status = Some(Status::Queued);
            }
            Act::RollBack(event) => next.outbox[event].tx = Tx::RolledBack,
            Act::Drain => next.drain(fault),
            Act::Claim { worker, delivery } => {
                next.deliveries[delivery].holder = Some(next.process(worker));
                next.deliveries[delivery].held_at = None;
                next.deliveries[delivery].done = fault == Fault::DoneFirst;
                next.workers[worker].step = Step::Has(delivery);
            }
            Act::MarkRunning(worker) => next.mark_running(worker, fault),
            Act::Announce(worker) => {
                if let Step::Runs {
                    delivery,
                    announced,
                    ..
                } = &mut next.workers[worker].step
                {
                    *announced = true;
                    let row = self.row_of(*delivery);
                    next.write(row, Status::Succeeded, Tx::Committed);
                }
            }
            Act::Succeed(worker) => {
                next.settle_row(worker, fault, "mark_succeeded", Status::Succeeded);
            }
            Act::Requeue(worker) => {
                next.retries -= 1;
                next.settle_row(worker, fault, "requeue_for_retry", Status::Queued);
            }
            Act::GiveBack(worker) => {
                next.retries -= 1;
                next.settle_row(worker, fault, "give_back", Status::Queued);
            }
            Act::Settle(worker) => {
                let process = next.process(worker);
                if let Step::Settles(delivery) = next.workers[worker].step
                    && next.deliveries[delivery].holder == Some(process)
                {
                    next.deliveries[delivery].done = true;
                    next.deliveries[delivery].holder = None;
                }
                next.workers[worker].step = Step::Idle;
            }
            Act::Crash(worker) => {
                next.crashes -= 1;
                next.workers[worker].life += 1;
                next.workers[worker].step = Step::Idle;
            }
            Act::Suspect(row) => {
                next.suspicions -= 1;
                next.rows[row].suspected = true;
            }
            Act::LeaseEnds(delivery) => {
                if self.deliveries[delivery]
                    .holder
                    .is_some_and(|holder| self.lives(holder))
                {
                    next.suspicions -= 1;
                }
                next.deliveries[delivery].holder = None;
            }
            Act::Cancel(row) => {
                next.cancels -= 1;
                next.shift(row, "mark_cancelled", Status::Cancelled);
                next.write(row, Status::Cancelled, Tx::Committed);
            }
            Act::Reap(row) => next.write(row, Status::Queued, Tx::Committed),
        }
        next
    }

    /// Some worker works for a claim it has lost: what it writes will be refused.
    pub(super) fn has_a_zombie(&self) -> bool {
        self.workers.iter().any(|worker| match worker.step {
            Step::Runs {
                delivery, fence, ..
            } => self.rows[self.row_of(delivery)].fence != fence,
            _ => false,
        })
    }

    /// Some transaction committed after one that had begun later was drained.
    pub(super) fn has_a_late_commit(&self) -> bool {
        let newest = self.newest_drained();
        self.undrained(Fault::None)
            .iter()
            .any(|event| self.outbox[*event].number < newest)
    }

    fn process(&self, slot: usize) -> Process {
        Process {
            slot,
            life: self.workers[slot].life,
        }
    }

    fn lives(&self, process: Process) -> bool {
        self.workers[process.slot].life == process.life
    }

    fn row_of(&self, delivery: usize) -> usize {
        self.outbox[self.deliveries[delivery].event].row
    }

    fn is_lost(&self, row: usize) -> bool {
        self.rows[row].suspected
            || self.rows[row]
                .holder
                .is_some_and(|holder| !self.lives(holder))
    }

    fn is_due(&self, delivery: usize) -> bool {
        let state = &self.deliveries[delivery];
        let row = self.row_of(delivery);
        let held = state.held_at == Some(self.rows[row].fence)
            && self.rows[row].status == Some(Status::Running)
            && !self.is_lost(row);
        !state.done && state.holder.is_none() && !held
    }

    /// Committed submissions that the group has not got, as the drain looks for them.
    fn undrained(&self, fault: Fault) -> Vec<usize> {
        let passed = |event: &Event| match fault {
            Fault::DrainByNumber => event.number < self.newest_drained(),
            _ => event.number < self.low,
        };
        let mut found = Vec::new();
        for (index, event) in self.outbox.iter().enumerate() {
            let handed = self
                .deliveries
                .iter()
                .any(|delivery| delivery.event == index);
            if event.tx == Tx::Committed
                && event.status == Status::Queued
                && !handed
                && !passed(event)
            {
                found.push(index);
            }
        }
        found
    }

    fn newest_drained(&self) -> u8 {
        let numbers = self
            .deliveries
            .iter()
            .map(|delivery| self.outbox[delivery.event].number);
        numbers.max().unwrap_or(0)
    }

    fn drain(&mut self, fault: Fault) {
        for event in self.undrained(fault) {
            self.deliveries.push(Delivery {
                event,
                holder: None,
                done: false,
                held_at: None,
            });
        }
        let open = self.outbox.iter().filter(|event| event.tx == Tx::Open);
        self.low = open
            .map(|event| event.number)
            .min()
            .unwrap_or(self.outbox.len() as u8);
    }

    /// An event for the row as it stands is on its way: the reaper writes no second one.
    fn is_announced(&self, row: usize, fault: Fault) -> bool {
        let undrained = self.undrained(fault);
        self.outbox.iter().enumerate().any(|(index, event)| {
            let owed = self
                .deliveries
                .iter()
                .any(|delivery| delivery.event == index && !delivery.done);
            event.row == row
                && event.status == Status::Queued
                && event.fence == self.rows[row].fence
                && (owed || undrained.contains(&index))
        })
    }

    fn write(&mut self, row: usize, status: Status, tx: Tx) {
        self.outbox.push(Event {
            row,
            fence: self.rows[row].fence,
            status,
            number: self.outbox.len() as u8,
            tx,
        });
    }

    /// One conditional update whose condition holds.
    fn shift(&mut self, row: usize, method: &str, to: Status) {
        let state = &mut self.rows[row];
        let known = MOVES
            .iter()
            .any(|step| step.method == method && Some(step.from) == state.status && step.to == to);
        self.illegal |= !known;
        state.status = Some(to);
        state.fence += 1;
        state.suspected = false;
        state.holder = None;
    }

    fn mark_running(&mut self, worker: usize, fault: Fault) {
        let Step::Has(delivery) = self.workers[worker].step else {
            return;
        };
        let row = self.row_of(delivery);
        let process = self.process(worker);
        self.workers[worker].step = Step::Settles(delivery);
        match self.rows[row].status {
            Some(Status::Running) if !self.is_lost(row) => {
                if fault == Fault::HeldIsDone {
                    return;
                }
                self.workers[worker].step = Step::Idle;
                // Given back, if it is still this worker's to give.
                if self.deliveries[delivery].holder == Some(process) {
                    self.deliveries[delivery].holder = None;
                    self.deliveries[delivery].held_at = Some(self.rows[row].fence);
                }
            }
            Some(Status::Running) if self.rows[row].attempts >= ATTEMPTS => {
                self.shift(row, "mark_running", Status::Failed);
                self.write(row, Status::Failed, Tx::Committed);
            }
            Some(Status::Queued | Status::Running) => {
                self.shift(row, "mark_running", Status::Running);
                let state = &mut self.rows[row];
                state.attempts += 1;
                state.holder = Some(process);
                self.workers[worker].step = Step::Runs {
                    delivery,
                    fence: state.fence,
                    attempt: state.attempts,
                    announced: false,
                };
            }
            _ => {}
        }
    }

    /// The end of a run: refused unless the claim is the one that was given.
    fn settle_row(&mut self, worker: usize, fault: Fault, method: &str, to: Status) {
        let Step::Runs {
            delivery,
            fence,
            attempt,
            ..
        } = self.workers[worker].step
        else {
            return;
        };
        let row = self.row_of(delivery);
        self.workers[worker].step = Step::Settles(delivery);
        let state = &mut self.rows[row];
        let current = state.fence == fence || fault == Fault::NoFence;
        if state.status != Some(Status::Running) || !current {
            return;
        }
        if to == Status::Succeeded {
            state.accepted.push((attempt, state.attempts));
        }
        if method == "give_back" {
            state.attempts -= 1;
        }
        self.shift(row, method, to);
        if fault != Fault::EventApart || to == Status::Queued {
            self.write(row, to, Tx::Committed);
        }
    }
}
