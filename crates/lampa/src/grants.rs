//! What a host grants to the process: folders as mounts, and ports; and how it says so.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::ValueExt;
use svit::{Ports, Reasoner, SvitBuilder};

use crate::failure::{Failure, usage};

/// The mount of the folder that the program was started in.
const CWD: &str = "cwd";

/// What the ports can do, in words. A console for research has all of them.
const HTTP: &str = "the port http is unrestricted: the model and scripts can send what they read \
                    to any address, this machine and its network included";

/// A folder that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderGrant {
    /// It is at `/mounts/<name>`.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) is_writable: bool,
}

impl FolderGrant {
    /// Reads `name=folder`.
    pub(crate) fn parse(word: OsString, is_writable: bool) -> Result<Self, Failure> {
        let word = word.string()?;
        match word.split_once('=') {
            Some((name, folder)) if !name.is_empty() && !folder.is_empty() => Ok(Self {
                name: name.to_owned(),
                folder: folder.into(),
                is_writable,
            }),
            _ => Err(usage(format!("a mount is NAME=FOLDER, not `{word}`"))),
        }
    }
}

/// What is granted, and a sentence for each part of it.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    mounts: Vec<Folder>,
    /// The model of the ports `llm` and `spawn`.
    model: Option<Reasoner>,
    /// For people: what the model and scripts can reach.
    pub(crate) said: Vec<String>,
}

impl Grants {
    /// The current folder and those that were asked for, and a model if there is one. A folder is
    /// opened here, so that one that is not there is an error before anything is done.
    pub(crate) fn open(asked: Vec<FolderGrant>, model: Option<Reasoner>) -> Result<Self, Failure> {
        let mut grants = Self {
            model,
            ..Self::default()
        };
        for (index, grant) in asked.iter().enumerate() {
            if asked[..index].iter().any(|other| other.name == grant.name) {
                return Err(usage(format!(
                    "there are two mounts of the name `{}`",
                    grant.name
                )));
            }
        }
        if !asked.iter().any(|grant| grant.name == CWD) && cfg!(unix) {
            grants.current_folder();
        }
        for grant in asked {
            let source = format!("the folder {}", grant.folder.display());
            let failed = |source| Failure::Mount {
                name: grant.name.clone(),
                folder: grant.folder.clone(),
                source,
            };
            grants
                .mounts
                .push(Folder::open(&grant, source).map_err(failed)?);
            grants.say(&grant);
        }
        grants.said.push(HTTP.to_owned());
        if let Some(model) = &grants.model {
            let model = model.model();
            grants.said.push(format!(
                "by the port llm scripts can ask the model {model}, and by spawn have a fork of the \
                 process answer: each call costs tokens, which no budget of a turn counts"
            ));
        }
        Ok(grants)
    }

    /// Not to have it is no reason to stop.
    fn current_folder(&mut self) {
        let opened = std::env::current_dir().and_then(|folder| {
            let grant = FolderGrant {
                name: CWD.to_owned(),
                folder,
                is_writable: false,
            };
            // The words are committed: the same ones wherever it is, so that they do not change.
            let mount = Folder::open(&grant, "the current folder".to_owned())?;
            Ok((grant, mount))
        });
        match opened {
            Ok((grant, mount)) => {
                self.mounts.push(mount);
                self.say(&grant);
            }
            Err(error) => self
                .said
                .push(format!("the current folder is not mounted: {error}")),
        }
    }

    fn say(&mut self, grant: &FolderGrant) {
        let access = if grant.is_writable {
            "read and written"
        } else {
            "read only"
        };
        let folder = grant.folder.display();
        self.said
            .push(format!("/mounts/{} is {folder}, {access}", grant.name));
    }

    /// Gives all of it to a process.
    pub(crate) fn attach(self, mut svit: SvitBuilder) -> SvitBuilder {
        for mount in self.mounts {
            svit = mount.attach(svit);
        }
        let mut ports = Ports::new().http_unrestricted();
        if let Some(model) = self.model {
            ports = ports.llm(model.clone()).spawn(model);
        }
        svit.ports(ports)
    }
}

/// An open folder, with the name of its mount.
#[derive(Debug)]
struct Folder {
    #[cfg(unix)]
    name: String,
    #[cfg(unix)]
    mount: svit::mount::FolderMount,
}

#[cfg(unix)]
impl Folder {
    fn open(grant: &FolderGrant, source: String) -> std::io::Result<Self> {
        let open = if grant.is_writable {
            svit::mount::FolderMount::read_write
        } else {
            svit::mount::FolderMount::read_only
        };
        Ok(Self {
            name: grant.name.clone(),
            mount: open(&grant.folder)?.source(source),
        })
    }

    fn attach(self, svit: SvitBuilder) -> SvitBuilder {
        svit.mount(self.name, self.mount)
    }
}

#[cfg(not(unix))]
impl Folder {
    fn open(_: &FolderGrant, _: String) -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn attach(self, svit: SvitBuilder) -> SvitBuilder {
        svit
    }
}
