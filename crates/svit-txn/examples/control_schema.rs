//! Prints the JSON Schema of the control protocol, for `cargo xtask schema`.
#![allow(clippy::print_stdout, reason = "an example prints")]

fn main() -> Result<(), svit_value::ValueError> {
    println!("{}", svit_txn::control::schema()?.to_json()?);
    Ok(())
}
