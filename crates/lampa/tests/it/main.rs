//! lampa as people and programs run it: a program of its own, over folders of its own.

mod console;
mod data;
mod refusals;
mod send;
