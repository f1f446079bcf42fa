//! The suite finds what is wrong with a mount that is wrong in one way, and nothing with one that is not.

use std::collections::BTreeMap;
use std::sync::Mutex;

use svit_tree::mount::{Locality, MountStat};
use svit_value::Kind;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    GrantsAll,
    SaysAnotherGrant,
    ListsUnsorted,
    ListsTooMany,
    ReadsTooMuch,
    ForgetsToRemove,
    RemovesWhatIsNotThere,
    FollowsSlashes,
    ChecksWrong,
    Panics,
}

/// Texts by name, one level deep.
struct Flat {
    texts: Mutex<BTreeMap<String, String>>,
    grant: Grant,
    flaw: Flaw,
}

impl Flat {
    fn name(&self, path: &MountPath) -> Option<String> {
        let mut segments = path.segments();
        let name = segments.next()?;
        let last = match self.flaw {
            Flaw::FollowsSlashes => name.rsplit('/').next()?,
            _ => name,
        };
        segments.next().is_none().then(|| last.to_owned())
    }

    fn granted(&self, path: &MountPath) -> Result<String, MountError> {
        if self.grant == Grant::Read && self.flaw != Flaw::GrantsAll {
            return Err(MountError::Denied { path: path.clone() });
        }
        self.name(path).ok_or_else(|| MountError::Refused {
            path: path.clone(),
            why: "one level".to_owned(),
        })
    }

    fn too_large(path: &MountPath, allowed: u64, actual: u64) -> MountError {
        MountError::TooLarge {
            path: path.clone(),
            unit: "x",
            allowed,
            actual,
        }
    }
}

impl MountProvider for Flat {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: "flat".into(),
            source: "texts".into(),
            locality: Locality::Local,
            grant: match self.flaw {
                Flaw::SaysAnotherGrant => Grant::ReadWrite,
                _ => self.grant,
            },
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        if self.flaw == Flaw::Panics {
            panic!("a mount panics, as it should");
        }
        let texts = self.texts.lock().unwrap();
        if !path.is_root() {
            return Ok(Vec::new());
        }
        if texts.len() > limit && self.flaw != Flaw::ListsTooMany {
            return Err(Self::too_large(path, limit as u64, texts.len() as u64));
        }
        let mut names: Vec<Text> = texts.keys().map(|name| Text::from(name.as_str())).collect();
        if self.flaw == Flaw::ListsUnsorted {
            names.reverse();
        }
        Ok(names)
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        let texts = self.texts.lock().unwrap();
        let Some(text) = self.name(path).and_then(|name| texts.get(&name)) else {
            return Ok(None);
        };
        let len = text.len() as u64;
        if len > max_bytes && self.flaw != Flaw::ReadsTooMuch {
            return Err(Self::too_large(path, max_bytes, len));
        }
        Ok(Some(text.as_str().into()))
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        let texts = self.texts.lock().unwrap();
        let kind = match self.name(path) {
            None if path.is_root() => Some(Kind::Map),
            name => name.and_then(|name| texts.get(&name)).map(|_| Kind::Text),
        };
        Ok(kind.map(|kind| MountStat {
            kind,
            entries: None,
            bytes: None,
        }))
    }

    fn check(&self, path: &MountPath, _: Option<&Value>) -> Result<(), MountError> {
        match self.flaw {
            Flaw::ChecksWrong => Err(MountError::Denied { path: path.clone() }),
            _ => Ok(()),
        }
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        let name = self.granted(path)?;
        let text = value.as_str().ok_or_else(|| MountError::Refused {
            path: path.clone(),
            why: "texts only".to_owned(),
        })?;
        self.texts.lock().unwrap().insert(name, text.to_owned());
        Ok(())
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        let name = self.granted(path)?;
        let mut texts = self.texts.lock().unwrap();
        let there = match self.flaw {
            Flaw::ForgetsToRemove => texts.contains_key(&name),
            _ => texts.remove(&name).is_some(),
        };
        match there || self.flaw == Flaw::RemovesWhatIsNotThere {
            true => Ok(()),
            false => Err(MountError::Missing { path: path.clone() }),
        }
    }
}

fn broken(flaw: Flaw) -> Vec<&'static str> {
    let made = mount(|grant| Flat {
        texts: Mutex::default(),
        grant,
        flaw,
    });
    made.map_or_else(
        |broken| broken.rules().iter().map(|(name, _)| *name).collect(),
        |()| Vec::new(),
    )
}

#[test]
fn a_mount_without_flaws_conforms_and_each_flaw_is_found() {
    assert_eq!(broken(Flaw::None), Vec::<&str>::new());
    for (flaw, rule) in [
        (Flaw::GrantsAll, "what_is_not_granted_is_denied"),
        (
            Flaw::SaysAnotherGrant,
            "the_descriptor_is_one_and_says_the_grant",
        ),
        (
            Flaw::ListsUnsorted,
            "names_are_sorted_and_bounded_at_the_edge",
        ),
        (
            Flaw::ListsTooMany,
            "names_are_sorted_and_bounded_at_the_edge",
        ),
        (Flaw::ReadsTooMuch, "reads_are_bounded_at_the_edge"),
        (Flaw::ForgetsToRemove, "what_is_replaced_or_removed_is_gone"),
        (
            Flaw::RemovesWhatIsNotThere,
            "what_is_replaced_or_removed_is_gone",
        ),
        (Flaw::FollowsSlashes, "a_name_is_one_name_whatever_is_in_it"),
        (Flaw::ChecksWrong, "what_a_check_refuses_a_write_refuses"),
    ] {
        assert_eq!(broken(flaw), [rule], "{flaw:?}");
    }
    assert!(broken(Flaw::Panics).len() > 3);
    assert_eq!(mount_rules().len(), 10);
}
