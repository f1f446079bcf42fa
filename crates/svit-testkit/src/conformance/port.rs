//! Every rule of the port contract as a check that runs against any port.

use std::sync::Arc;

use futures_lite::future;
use svit_ports::{Port, PortContext, PortError, Ports};
use svit_tree::Tree;
use svit_value::{List, Map, Value};

use super::{Broken, ensure, ensure_eq};

/// Checks a port against every rule of the contract. `good` are inputs that it has an output for; the
/// calls are made, with all that they do. Runs in the runtime of whoever awaits it, as the port does.
///
/// ```
/// # use svit_testkit::conformance;
/// # use svit_value::value;
/// # async fn demo(my_port: impl svit_ports::Port + 'static) {
/// conformance::port(my_port, [value!({"cents": 200})]).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// The rules that it broke, each with what was seen.
pub async fn port(
    port: impl Port + 'static,
    good: impl IntoIterator<Item = Value>,
) -> Result<(), Broken> {
    let port = Arc::new(port);
    let good: Vec<Value> = good.into_iter().collect();
    let results = [
        ("the_descriptor_is_good_and_stays", described(&port)),
        ("good_inputs_have_outputs", outputs(&port, &good).await),
        (
            "any_input_ends_in_an_output_or_a_reason",
            reasons(&port).await,
        ),
        ("a_call_can_be_dropped", dropped(&port, &good).await),
        ("calls_can_be_made_at_once", at_once(&port, &good).await),
    ];
    let broken = results
        .into_iter()
        .filter_map(|(name, result)| Some((name, result.err()?)));
    Broken::unless_none("port", broken.collect())
}

fn granted<P: Port + 'static>(port: &Arc<P>) -> (Ports, String) {
    let name = port.descriptor().name.to_string();
    (Ports::new().port(port.clone()), name)
}

fn context(call: &str) -> PortContext {
    PortContext::new(Arc::new(Tree::new()), call)
}

fn described<P: Port + 'static>(port: &Arc<P>) -> Result<(), String> {
    let (ports, name) = granted(port);
    ports.check().map_err(|error| error.to_string())?;
    ensure_eq!(port.descriptor(), port.descriptor(), "asked again");
    ensure!(ports.descriptor(&name).is_some(), "it has no name");
    Ok(())
}

async fn outputs<P: Port + 'static>(port: &Arc<P>, good: &[Value]) -> Result<(), String> {
    let (ports, name) = granted(port);
    for (number, input) in good.iter().enumerate() {
        let context = context(&format!("output-{number}"));
        let output = ports.dispatch(&name, input.clone(), &context).await;
        output.map_err(|error| format!("{input}: {error}"))?;
    }
    Ok(())
}

/// Inputs that a port has no reason to expect.
fn strange() -> Vec<Value> {
    let deep = (0..30).fold(Value::Null, |inner, _| {
        List::from_values([inner]).map_or(Value::Null, Value::from)
    });
    let keys = ["", "url", "path", "text", "\u{0}", "..", "__proto__"];
    let odd = Map::from_entries(keys.map(|key| (key, deep.clone())));
    let wide = Map::from_entries((0..1_000).map(|n| (n.to_string(), n)));
    vec![
        Value::Null,
        true.into(),
        i64::MIN.into(),
        "".into(),
        "\u{0}\u{1F980}\u{2028}".into(),
        "x".repeat(100_000).into(),
        List::new().into(),
        Map::new().into(),
        odd.map_or(Value::Null, Value::from),
        wide.map_or(Value::Null, Value::from),
        deep,
    ]
}

async fn reasons<P: Port + 'static>(port: &Arc<P>) -> Result<(), String> {
    let (ports, name) = granted(port);
    for (number, input) in strange().into_iter().enumerate() {
        let context = context(&format!("strange-{number}"));
        match ports.dispatch(&name, input, &context).await {
            Ok(_) | Err(PortError::TooLarge { .. }) => {}
            Err(PortError::Failed {
                reason, message, ..
            }) => {
                let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
                let good = !reason.is_empty() && reason.bytes().all(is_name);
                ensure!(good, "input {number}: {reason:?} is no name of a reason");
                ensure!(!message.is_empty(), "input {number}: it does not say why");
            }
            Err(error) => return Err(format!("input {number}: {error}")),
        }
    }
    Ok(())
}

/// A call that nobody waits for any more, whether or not it has begun.
async fn dropped<P: Port + 'static>(port: &Arc<P>, good: &[Value]) -> Result<(), String> {
    let (ports, name) = granted(port);
    for (number, input) in good.iter().enumerate() {
        for polls in 0..3 {
            let context = context(&format!("dropped-{number}-{polls}"));
            let call = ports.dispatch(&name, input.clone(), &context);
            let gone = async {
                for _ in 0..polls {
                    future::yield_now().await;
                }
            };
            future::or(gone, async { drop(call.await) }).await;
        }
    }
    outputs(port, good)
        .await
        .map_err(|seen| format!("afterwards, {seen}"))
}

async fn at_once<P: Port + 'static>(port: &Arc<P>, good: &[Value]) -> Result<(), String> {
    let (first, second) = future::zip(outputs(port, good), outputs(port, good)).await;
    first.and(second)
}
