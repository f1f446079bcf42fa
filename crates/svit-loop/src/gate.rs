//! What a tool call has to pass before it is run: where the policy says so, the host's yes.

use svit_model::ToolCall;
use svit_value::Value;

use crate::conversation::Approval;
use crate::failure::Failure;
use crate::thread::{CallSite, approval_requested, tool_finished};
use crate::tools;
use crate::worker::Worker;

/// Whether a call may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It may.
    Open,
    /// It waits for the host.
    Waits,
    /// Something was recorded; what comes next follows from that.
    Recorded,
}

impl Worker {
    /// Asks the host about a call, if its policy wants to be asked and has not been yet. A call that
    /// was started before was let through then.
    pub(crate) async fn gate(
        &mut self,
        site: CallSite,
        call: &ToolCall,
        is_started: bool,
        approval: &Approval,
    ) -> Result<Gate, Failure> {
        if is_started || !self.is_to_be_asked(call) {
            return Ok(Gate::Open);
        }
        match approval {
            Approval::Given => return Ok(Gate::Open),
            Approval::Waits => return Ok(Gate::Waits),
            Approval::Denied(reason) => {
                let why =
                    format!("the host denied this call, and nothing of it was done: {reason}");
                let result = tools::error(&call.id, why.trim_end_matches(": "));
                let finished = tool_finished(site, call, &result, Value::Null)?;
                self.journal.note(vec![finished]).await?;
            }
            Approval::NotAsked => {
                // All of an answer at once, so that the host need not be asked one by one.
                let unasked = self.journal.conversation().unasked();
                let asked = unasked.iter().filter(|(_, call)| self.is_to_be_asked(call));
                let requests: Result<Vec<_>, _> = asked
                    .map(|(site, call)| approval_requested(*site, call))
                    .collect();
                self.journal.note(requests?).await?;
            }
        }
        Ok(Gate::Recorded)
    }

    /// Whether the host wants to be asked about a call. One that is refused anyway is not worth it.
    fn is_to_be_asked(&self, call: &ToolCall) -> bool {
        self.policy.asks(&call.name)
            && (tools::only_reads(call)
                || matches!(
                    tools::plan(&self.process, &self.policy, call),
                    tools::Plan::Commit(_)
                ))
    }
}
