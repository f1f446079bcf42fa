//! Cuts a piece out of a text around a match, between characters.

use std::ops::Range;

/// The piece of `text` to show for `found`: at most `max` bytes, its start never behind the match's,
/// the rest shared by both sides as far as there is text.
pub(crate) fn around(text: &str, found: &Range<usize>, max: usize) -> Range<usize> {
    let spare = max.saturating_sub(found.len());
    let first = found.start.saturating_sub(spare / 2);
    // At the end of the text the window moves back rather than being cut short.
    let mut start = first.min(text.len().saturating_sub(max));
    let mut end = start.saturating_add(max).min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::around;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, needle: &str, max: usize, expected: &str) {
        let start = text.find(needle).unwrap();
        let range = around(text, &(start..start + needle.len()), max);
        assert_eq!(&text[range], expected);
    }

    #[test]
    fn the_match_is_in_the_middle_as_far_as_there_is_text() {
        check("0123456789", "45", 6, "234567");
        check("0123456789", "45", 100, "0123456789");
        check("0123456789", "01", 6, "012345");
        check("0123456789", "89", 6, "456789");
        check("0123456789", "2345", 4, "2345");
    }

    #[test]
    fn a_match_that_is_too_long_is_shown_from_its_start() {
        check("0123456789", "2345", 3, "234");
        check("0123456789", "2345", 0, "");
        check("0123456789", "6789", 3, "678");
    }

    #[test]
    fn characters_are_not_cut() {
        check("aééééb", "b", 4, "éb");
        check("ééxéé", "x", 4, "xé");
        check("😀", "😀", 3, "");
    }

    proptest! {
        #[test]
        fn it_is_within_the_bound_and_holds_what_fits(
            text in "[aé😀]{1,40}", from in 0usize..40, len in 1usize..20, max in 0usize..60
        ) {
            let chars: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = from.min(chars.len() - 2);
            let to = (from + len).min(chars.len() - 1);
            let found = chars[from]..chars[to];
            let range = around(&text, &found, max);
            prop_assert!(text.get(range.clone()).is_some());
            prop_assert!(range.len() <= max && range.start <= found.start);
            if max >= found.len() {
                prop_assert!(range.end >= found.end);
            }
            if max >= text.len() {
                prop_assert_eq!(range, 0..text.len());
            }
        }
    }
}
