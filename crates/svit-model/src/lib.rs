//! Talk to a language model.
