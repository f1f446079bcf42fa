//! Looking for matches, charged for what is read: for each byte of text once, up to where no earlier or longer match
//! can come any more, for each character that the pattern can be waiting for.

use std::ops::Range;

use regex_automata::hybrid::dfa;
use regex_automata::util::captures::Captures;
use regex_automata::{Input, meta};

use super::Linear;

/// Bytes that are matched against one position for the price of one tick; charged for piece by piece.
const BYTES_PER_TICK: usize = 64;

/// What a pattern learns while it runs: memory, and no part of any result.
pub(crate) struct Scratch {
    regex: meta::Cache,
    steps: dfa::Cache,
}

impl Linear {
    pub(crate) fn scratch(&self) -> Scratch {
        Scratch {
            regex: self.regex.create_cache(),
            steps: self.steps.create_cache(),
        }
    }

    /// The first match that starts at `from`, which is between two characters, or later.
    #[cfg_attr(not(feature = "search"), allow(dead_code, reason = "jq wants groups"))]
    pub(crate) fn find_at<E>(
        &self,
        scratch: &mut Scratch,
        text: &str,
        from: usize,
        charge: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        if !self.look(scratch, text, from, false, charge)? {
            return Ok(None);
        }
        let input = Input::new(text).span(from..text.len());
        let found = self.regex.search_with(&mut scratch.regex, &input);
        Ok(found.map(|found| found.range()))
    }

    /// The same, with the groups.
    #[cfg_attr(not(feature = "jq"), allow(dead_code, reason = "only jq wants groups"))]
    pub(crate) fn captures_at<E>(
        &self,
        scratch: &mut Scratch,
        text: &str,
        from: usize,
        charge: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Option<Captures>, E> {
        if !self.look(scratch, text, from, false, charge)? {
            return Ok(None);
        }
        let mut captures = self.regex.create_captures();
        let input = Input::new(text).span(from..text.len());
        self.regex
            .search_captures_with(&mut scratch.regex, &input, &mut captures);
        Ok(captures.is_match().then_some(captures))
    }

    /// Whether there is a match at all.
    #[cfg_attr(not(feature = "jq"), allow(dead_code, reason = "only jq asks this"))]
    pub(crate) fn is_match<E>(
        &self,
        scratch: &mut Scratch,
        text: &str,
        charge: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.matches_empty {
            // An empty match inside of a character is none; and where the engine leaves one out that it meets
            // first, it leaves out those that began before and end later.
            return Ok(self.find_at(scratch, text, 0, charge)?.is_some());
        }
        self.look(scratch, text, 0, true, charge)
    }

    /// The names of the groups that captures have, the whole match first.
    #[cfg_attr(not(feature = "jq"), allow(dead_code, reason = "only jq wants groups"))]
    pub(crate) fn group_names(&self) -> impl Iterator<Item = Option<&str>> {
        let first = regex_automata::PatternID::ZERO;
        self.regex.group_info().pattern_names(first)
    }

    /// Reads on until it is known where the first match ends, or that there is none, and charges for what it has
    /// read: `1 + bytes * cost / 64`, in pieces. With `earliest` it stops where a match is known to be.
    ///
    /// Says whether there may be a match; that of a pattern which matches the empty text can be in a character.
    fn look<E>(
        &self,
        scratch: &mut Scratch,
        text: &str,
        from: usize,
        earliest: bool,
        mut charge: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, E> {
        charge(1)?;
        let input = Input::new(text).span(from..text.len());
        let cache = &mut scratch.steps;
        let rest = &text.as_bytes()[from..];
        let Ok(mut state) = self.steps.start_state_forward(cache, &input) else {
            return self.unseen(rest.len(), charge);
        };
        let mut found = false;
        let mut piece = 0;
        for &byte in rest {
            let Ok(next) = self.steps.next_state(cache, state, byte) else {
                return self.unseen(rest.len(), charge);
            };
            state = next;
            piece += 1;
            if piece == BYTES_PER_TICK {
                charge(self.cost)?;
                piece = 0;
            }
            if state.is_match() {
                found = true;
                if earliest {
                    break;
                }
            } else if state.is_dead() || state.is_quit() {
                break;
            }
        }
        charge(piece as u64 * self.cost / BYTES_PER_TICK as u64)?;
        if !(found || state.is_dead()) {
            let Ok(end) = self.steps.next_eoi_state(cache, state) else {
                return Ok(true);
            };
            found = end.is_match();
        }
        Ok(found)
    }

    /// What is charged if the steps cannot be seen. They always can with the settings that `compile` makes.
    fn unseen<E>(
        &self,
        bytes: usize,
        mut charge: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, E> {
        charge((bytes as u64).saturating_mul(self.cost) / BYTES_PER_TICK as u64)?;
        Ok(true)
    }
}
