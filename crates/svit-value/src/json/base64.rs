//! Base64 without padding (RFC 4648, section 4), strict: one text for each sequence of octets.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let bits = group
            .iter()
            .zip([16, 8, 0])
            .fold(0u32, |bits, (octet, shift)| {
                bits | u32::from(*octet) << shift
            });
        for shift in [18, 12, 6, 0].into_iter().take(group.len() + 1) {
            text.push(char::from(DIGITS[(bits >> shift) as usize & 63]));
        }
    }
    text
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        if group.len() == 1 {
            return None;
        }
        let mut bits = 0u32;
        for (digit, shift) in group.iter().zip([18, 12, 6, 0]) {
            bits |= u32::from(number(*digit)?) << shift;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        let bytes = [a, b, c];
        let (keep, spare) = bytes.split_at(group.len() - 1);
        // Bits that stand for nothing must be zero, or several texts would mean the same.
        if spare.iter().any(|octet| *octet != 0) {
            return None;
        }
        octets.extend_from_slice(keep);
    }
    Some(octets)
}

fn number(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
