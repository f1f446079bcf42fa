//! What one turn may cost beside the steps and tool calls of the process's limits: tokens and time.
//!
//! Both are the host's, and no part of the process. The time is measured by this program's clock,
//! which is never stored: a program that goes on with a turn measures from there.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;

/// What a turn may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Tokens of all model calls, requests and answers together.
    pub(crate) tokens: u64,
    /// How long it is worked on.
    pub(crate) wall: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            tokens: 2_000_000,
            wall: Duration::from_secs(30 * 60),
        }
    }
}

/// How long this program has worked on the turn under way.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    turn: u64,
    spent: Duration,
}

impl Stopwatch {
    /// When a turn that is worked on from now on has had its time; never if that is out of reach.
    pub(crate) fn deadline(&mut self, turn: u64, wall: Duration) -> Deadline {
        if self.turn != turn {
            *self = Self {
                turn,
                spent: Duration::ZERO,
            };
        }
        let left = wall.saturating_sub(self.spent);
        Deadline {
            wall,
            at: Instant::now().checked_add(left),
        }
    }

    /// Counts time that was spent on the turn.
    pub(crate) fn add(&mut self, spent: Duration) {
        self.spent = self.spent.saturating_add(spent);
    }
}

/// When a turn has had its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    wall: Duration,
    at: Option<Instant>,
}

impl Deadline {
    /// Waits until then.
    pub(crate) async fn passed(self) {
        match self.at {
            Some(at) if at > Instant::now() => tokio::time::sleep_until(at).await,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }

    /// Why the turn ends then.
    pub(crate) fn failure(self) -> Failure {
        let reason = format!(
            "the turn was worked on for {:?}, which is all the time that it may take",
            self.wall
        );
        Failure::last("max_turn_wall", reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_adds_up_over_the_attempts_at_one_turn() {
        let wall = Duration::from_secs(10);
        let mut watch = Stopwatch::default();
        let begun = Instant::now();
        let left = |deadline: Deadline| deadline.at.map(|at| (at - begun).as_secs());
        assert_eq!(left(watch.deadline(1, wall)), Some(10));
        watch.add(Duration::from_secs(4));
        assert_eq!(left(watch.deadline(1, wall)), Some(6));
        watch.add(Duration::from_secs(7));
        assert_eq!(left(watch.deadline(1, wall)), Some(0));
        watch.deadline(1, wall).passed().await;
        assert_eq!(left(watch.deadline(2, wall)), Some(10), "another turn");
        assert_eq!(left(watch.deadline(2, Duration::MAX)), None);
    }
}
