//! Numbers and texts as bytes, and back: never a panic, never more than the bytes could hold.

use mcpproxy_core::Id128;

/// The longest name that is carried; what is longer is cut.
const NAME: usize = 1024;

/// Writes values one behind the other.
#[derive(Debug, Default)]
pub(super) struct Packer(pub(super) Vec<u8>);

impl Packer {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Writes seven bits at a time, least first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number > 0x7F {
            self.byte(0x80 | u8::try_from(number & 0x7F).unwrap_or(0));
            number >>= 7;
        }
        self.byte(u8::try_from(number).unwrap_or(0));
    }

    pub(super) fn count(&mut self, count: usize) {
        self.number(u64::try_from(count).unwrap_or(u64::MAX));
    }

    pub(super) fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn id(&mut self, id: Id128) {
        self.fixed(&id.0.to_be_bytes());
    }

    /// Writes a name, or as much of it as is carried.
    pub(super) fn name(&mut self, name: &str) {
        let name = name.get(..name.floor_char_boundary(NAME)).unwrap_or(name);
        self.count(name.len());
        self.fixed(name.as_bytes());
    }

    /// Writes which of the values of a table it is.
    pub(super) fn pick<T: PartialEq>(&mut self, table: &[T], value: &T) {
        let at = table.iter().position(|one| one == value).unwrap_or(0);
        self.byte(u8::try_from(at).unwrap_or(0));
    }
}

/// Reads what was written; nothing where that was not it.
#[derive(Debug)]
pub(super) struct Unpacker<'a>(pub(super) &'a [u8]);

impl<'a> Unpacker<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads how many of something there are: no more than `most`, and no more than there are bytes
    /// for, so that nobody makes room for what does not come.
    pub(super) fn count(&mut self, most: usize, each: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= most && count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    pub(super) fn id(&mut self) -> Option<Id128> {
        self.fixed().map(Id128::from_bytes)
    }

    pub(super) fn name(&mut self) -> Option<&'a str> {
        let length = self.count(NAME, 1)?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub(super) fn pick<T: Copy>(&mut self, table: &[T]) -> Option<T> {
        table.get(usize::from(self.byte()?)).copied()
    }

    /// Reads a list.
    pub(super) fn list<T>(
        &mut self,
        most: usize,
        each: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count(most, each)?;
        (0..count).map(|_| read(self)).collect()
    }
}
