//! lampa as people and programs run it: a program of its own, over folders of its own.

mod console;
mod data;
#[cfg(unix)]
mod plain;
mod refusals;
mod send;
#[cfg(unix)]
mod terminal;
