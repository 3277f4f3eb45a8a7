//! As much of DER as timestamps need: elements one after the other, with definite lengths only.

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    /// What is inside.
    pub(super) body: &'a [u8],
    /// The element itself, with its head.
    pub(super) whole: &'a [u8],
}

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const CONTEXT_0: u8 = 0xA0;

/// Reads elements from a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads the next element, whatever it is.
    pub(super) fn next(&mut self) -> Option<Element<'a>> {
        let all = self.0;
        let (&tag, rest) = all.split_first()?;
        // No tag here needs more than one byte.
        if tag & 0x1F == 0x1F {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7F);
            if count == 0 || count > 4 {
                return None;
            }
            let (digits, after) = rest.split_at_checked(count)?;
            length = digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = after;
        }
        let (body, after) = rest.split_at_checked(length)?;
        let whole = all.get(..all.len() - after.len())?;
        self.0 = after;
        Some(Element { tag, body, whole })
    }

    /// Reads the next element, which must have that tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// Reads the next element if it has that tag.
    pub(super) fn optional(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut ahead = *self;
        let element = ahead.expect(tag)?;
        *self = ahead;
        Some(element)
    }

    /// Enters the next element, which must have that tag.
    pub(super) fn enter(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(|element| Self(element.body))
    }
}

/// Prints one element.
pub(super) fn element(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(body.len()) {
        Ok(length) if length < 0x80 => bytes.push(length),
        _ => {
            let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
            bytes.push(0x84);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes.extend_from_slice(body);
    bytes
}
