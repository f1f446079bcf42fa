//! Run one Svit Lisp script within limits.
