//! What a host grants to an agent beside its own state: ports and mounts, attached to its process.

use std::fmt;
use std::sync::Arc;

use svit_ports::{CommittedState, Effect, PortContext, PortError, Ports};
use svit_tree::guest::HostError;
use svit_tree::mount::MountProvider;
use svit_tree::{Caller, Path, Stat};
use svit_txn::{BoxFuture, Committed, DurableProcess, PortDispatch, PortEffect, PortRequest};
use svit_value::{Map, Text, Value};

use crate::LoopError;
use crate::children::{Children, Guidance};

/// What is to be attached.
#[derive(Default)]
pub(crate) struct Grants {
    pub(crate) ports: Option<Ports>,
    pub(crate) mounts: Vec<(String, Arc<dyn MountProvider>)>,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mounts = self.mounts.iter().map(|(name, _)| name);
        f.debug_struct("Grants")
            .field("ports", &self.ports)
            .field("mounts", &mounts.collect::<Vec<_>>())
            .finish()
    }
}

impl Grants {
    /// Attaches everything, and gives back the ports that calls go to.
    pub(crate) async fn attach(
        self,
        process: &DurableProcess,
        guidance: Guidance,
    ) -> Result<Arc<Ports>, LoopError> {
        for (name, provider) in self.mounts {
            process.attach_mount(&name, provider).await?;
        }
        let Some(ports) = self.ports else {
            return Ok(Arc::new(Ports::new()));
        };
        let ports = Arc::new(ports);
        let granted = Granted {
            manuals: ports.manuals()?,
            ports: ports.clone(),
            guidance,
        };
        process.attach_ports(Arc::new(granted)).await?;
        Ok(ports)
    }
}

/// Ports, as a process calls them.
struct Granted {
    ports: Arc<Ports>,
    manuals: Map,
    /// For children.
    guidance: Guidance,
}

impl Granted {
    async fn dispatch(
        &self,
        request: PortRequest,
        children: Option<Children>,
    ) -> Result<Value, HostError> {
        let state = Arc::new(Seen(request.committed));
        let mut context = PortContext::new(state, request.key);
        if let Some(children) = children {
            context = context.with_children(Arc::new(children));
        }
        let answer = self.ports.dispatch(&request.name, request.input, &context);
        answer
            .await
            .map_err(|error: PortError| HostError::soft(error.code(), error.to_string()))
    }
}

impl PortDispatch for Granted {
    fn manuals(&self) -> Map {
        self.manuals.clone()
    }

    fn effect(&self, name: &str) -> Option<PortEffect> {
        Some(match self.ports.descriptor(name)?.effect {
            Effect::Pure => PortEffect::Pure,
            Effect::Read => PortEffect::Read,
            // A class that is not known here is taken for the worst.
            _ => PortEffect::Write,
        })
    }

    fn call(&self, request: PortRequest) -> BoxFuture<'_, Result<Value, HostError>> {
        Box::pin(self.dispatch(request, None))
    }

    fn call_for<'a>(
        &'a self,
        process: &'a DurableProcess,
        request: PortRequest,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        let children = Children {
            parent: process.clone(),
            guidance: self.guidance.clone(),
        };
        Box::pin(self.dispatch(request, Some(children)))
    }
}

/// What a port sees of the process.
struct Seen(Committed);

fn refused(error: svit_txn::Error) -> HostError {
    HostError::soft(error.code(), error.to_string())
}

impl CommittedState for Seen {
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        self.0.read(path).map_err(refused)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, HostError> {
        self.0.stat(path, Caller::Guest).map_err(refused)
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        self.0.discover(path).map_err(refused)
    }
}
