//! An open instance with what is granted to it, and the loop around it.

use svit::{DurableProcess, Reasoner, Svit};

use crate::arguments::Call;
use crate::command::Command;
use crate::failure::Failure;
use crate::grants::Grants;
use crate::instance::Instance;
use crate::model::{OPENAI_KEY, if_there_is_one, reasoner};

/// An open instance. While it is open, no other program can use it.
pub(crate) struct Session {
    instance: Instance,
    svit: Option<Svit>,
    /// What the process can reach, in words.
    pub(crate) grants: Vec<String>,
    /// The model that answers, or the variable whose key is missing for that.
    pub(crate) model: Result<String, &'static str>,
}

impl Session {
    /// For one command: no more is attached than it needs.
    pub(crate) async fn for_command(call: Call, command: &Command) -> Result<Self, Failure> {
        // Without a model, or the snapshot, there is nothing to open an instance for.
        let talks = matches!(command, Command::Send { .. });
        let model = talks.then(|| reasoner(call.model.clone())).transpose()?;
        if let Command::Import { file } = command {
            let process = Instance::snapshot(file, &call.instance)?;
            return Self::bare(Instance::import(call.data_dir, &call.instance, process).await?);
        }
        if call.mounts.is_empty() && !command.reaches_outside() {
            return Self::bare(Instance::open(call.data_dir, &call.instance).await?);
        }
        // The same ports for each of them, since what is granted is committed.
        let port = match &model {
            Some(model) => Some(model.clone()),
            None => if_there_is_one(reasoner(call.model))?.ok(),
        };
        let grants = Grants::open(call.mounts, port)?;
        Self::with(
            Instance::open(call.data_dir, &call.instance).await?,
            grants,
            model.ok_or(OPENAI_KEY),
        )
        .await
    }

    /// For the console: with everything, and with a model if there is one.
    pub(crate) async fn for_console(call: Call) -> Result<Self, Failure> {
        let model = if_there_is_one(reasoner(call.model))?;
        let grants = Grants::open(call.mounts, model.clone().ok())?;
        Self::with(
            Instance::open(call.data_dir, &call.instance).await?,
            grants,
            model,
        )
        .await
    }

    fn bare(instance: Instance) -> Result<Self, Failure> {
        Ok(Self {
            instance,
            svit: None,
            grants: Vec::new(),
            model: Err(OPENAI_KEY),
        })
    }

    async fn with(
        instance: Instance,
        mut grants: Grants,
        reasoner: Result<Reasoner, &'static str>,
    ) -> Result<Self, Failure> {
        let model = reasoner.as_ref().map_err(|missing| *missing);
        let model = model.map(|reasoner| reasoner.model().to_owned());
        let said = std::mem::take(&mut grants.said);
        match Self::start(&instance, grants, reasoner.ok()).await {
            Ok(svit) => Ok(Self {
                instance,
                svit: Some(svit),
                grants: said,
                model,
            }),
            Err(failure) => {
                // Why it could not be closed besides would be of no help.
                let _ = instance.close().await;
                Err(failure)
            }
        }
    }

    async fn start(
        instance: &Instance,
        grants: Grants,
        reasoner: Option<Reasoner>,
    ) -> Result<Svit, Failure> {
        let mut svit = grants.attach(Svit::persisted(instance.process.clone())?);
        let answers = reasoner.is_some();
        if let Some(reasoner) = reasoner {
            svit = svit.reasoner(reasoner);
        }
        let svit = svit.build().await?;
        if answers {
            svit.start()?;
        }
        Ok(svit)
    }

    pub(crate) const fn process(&self) -> &DurableProcess {
        &self.instance.process
    }

    /// The loop, if a model answers.
    pub(crate) fn talk(&self) -> Result<&Svit, Failure> {
        match (&self.svit, &self.model) {
            (Some(svit), Ok(_)) => Ok(svit),
            (_, Err(variable)) => Err(Failure::NoModel { variable }),
            (None, Ok(_)) => Err(Failure::NoModel {
                variable: OPENAI_KEY,
            }),
        }
    }

    /// The loop, whether or not a model answers.
    pub(crate) const fn svit(&self) -> Option<&Svit> {
        self.svit.as_ref()
    }

    /// Ends the loop once every message is answered, and closes the instance.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let stopped = match self.svit {
            Some(mut svit) if self.model.is_ok() => svit.stop().await,
            _ => Ok(()),
        };
        self.instance.close().await?;
        Ok(stopped?)
    }

    /// Closes the instance without waiting for a turn: it goes on when the instance is opened again.
    pub(crate) async fn leave(self) -> Result<(), Failure> {
        drop(self.svit);
        self.instance.close().await
    }
}
