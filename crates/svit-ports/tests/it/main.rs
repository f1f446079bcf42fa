//! The mounts and ports that come with svit against their contracts, and the suite of ports against
//! ports that keep theirs and ports that do not.
#![allow(clippy::unwrap_used, reason = "tests")]

use svit_ports::{BoxFuture, Port, PortContext, PortDescriptor, PortFailure, ValueMount};
use svit_testkit::conformance;
use svit_tree::mount::Grant;
use svit_value::{Value, value};

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "model")]
mod llm;
#[cfg(feature = "model")]
mod spawn;

#[test]
fn a_value_conforms() {
    conformance::mount(|grant| match grant {
        Grant::Read => ValueMount::read_only(value!({})),
        Grant::ReadWrite => ValueMount::read_write(value!({})),
    })
    .unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_conforms() {
    use svit_ports::FolderMount;

    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::mount(|grant| {
        number.set(number.get() + 1);
        let folder = place.path().join(number.get().to_string());
        std::fs::create_dir(&folder).unwrap();
        match grant {
            Grant::Read => FolderMount::read_only(folder).unwrap(),
            Grant::ReadWrite => FolderMount::read_write(folder).unwrap(),
        }
    })
    .unwrap();
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    BadName,
    NeverAnswersGood,
    PanicsOnNull,
    GivesNoReason,
    BreaksWhenDropped,
}

/// Doubles an integer.
struct Double(Flaw, std::sync::atomic::AtomicBool);

impl Port for Double {
    fn descriptor(&self) -> PortDescriptor {
        let name = if self.0 == Flaw::BadName {
            "9"
        } else {
            "double"
        };
        PortDescriptor::new(name, "1", "Doubles an integer.")
    }

    fn call<'a>(
        &'a self,
        _: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        use std::sync::atomic::Ordering::SeqCst;
        Box::pin(async move {
            assert!(self.0 != Flaw::PanicsOnNull || input != Value::Null);
            let busy = self.1.swap(true, SeqCst) && self.0 == Flaw::BreaksWhenDropped;
            tokio::task::yield_now().await;
            if self.0 != Flaw::BreaksWhenDropped || !busy {
                self.1.store(false, SeqCst);
            }
            match input.as_int() {
                Some(n) if !busy && self.0 != Flaw::NeverAnswersGood => {
                    Ok(Value::Int(n.wrapping_mul(2)))
                }
                _ if self.0 == Flaw::GivesNoReason => Err(PortFailure::new("", "")),
                _ => Err(PortFailure::new("bad_input", "give an integer")),
            }
        })
    }
}

#[test]
fn a_port_without_flaws_conforms_and_each_flaw_is_found() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let broken = |flaw: Flaw| -> Vec<&'static str> {
        let port = Double(flaw, Default::default());
        let checked = runtime.block_on(conformance::port(port, [value!(1), value!(21)]));
        checked.map_or_else(
            |broken| broken.rules().iter().map(|(name, _)| *name).collect(),
            |()| Vec::new(),
        )
    };
    assert_eq!(broken(Flaw::None), Vec::<&str>::new());
    for (flaw, rule) in [
        (Flaw::BadName, "the_descriptor_is_good_and_stays"),
        (Flaw::NeverAnswersGood, "good_inputs_have_outputs"),
        (
            Flaw::PanicsOnNull,
            "any_input_ends_in_an_output_or_a_reason",
        ),
        (
            Flaw::GivesNoReason,
            "any_input_ends_in_an_output_or_a_reason",
        ),
        (Flaw::BreaksWhenDropped, "a_call_can_be_dropped"),
    ] {
        assert!(broken(flaw).contains(&rule), "{flaw:?}: {:?}", broken(flaw));
    }
}
