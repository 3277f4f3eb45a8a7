//! Room for new values: which of the old ones go when the store is full.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mcpproxy_core::Nature;

use super::{FILTER_BITS, Vault, WINDOWS, held, shared};

/// Windows that are given back at once, so that this is seldom done.
const BACK: usize = WINDOWS / 8;
/// Windows that one reading keeps as long as older ones have to go first.
const SHARE: usize = WINDOWS / 16;
/// Windows that values of one nature keep, however many of another there are.
const PART: usize = WINDOWS / 4;

impl Vault {
    /// Lets values go until an eighth of the store is free.
    ///
    /// A reading that holds more than its share gives first, whenever it was read: nobody pushes out
    /// what others read, before or after, by one answer full of values. Then values of a nature that
    /// others leave no room go: no flood of keys pushes out a passport number. Of those what was validated
    /// stays longest, and the oldest go first.
    #[cold]
    pub(super) fn make_room(&mut self) {
        self.full = true;
        let mut going = vec![false; self.entries.len()];
        let mut free = 0;
        for at in self.in_turn() {
            if free >= BACK {
                break;
            }
            if let (Some(entry), Some(goes)) = (self.entries.get(at), going.get_mut(at)) {
                free += held(&entry.windows);
                *goes = true;
            }
        }
        self.drop_all(&going);
    }

    /// Returns the values in the order in which they go.
    fn in_turn(&self) -> Vec<usize> {
        let mut all: Vec<_> = self.entries.iter().enumerate().collect();
        all.sort_by_key(|(at, entry)| Reverse((entry.round, *at)));
        let mut parts: BTreeMap<Nature, usize> = BTreeMap::new();
        let mut all: Vec<_> = all
            .into_iter()
            .map(|(at, entry)| {
                let part = parts.entry(entry.label.nature).or_default();
                *part += held(&entry.windows);
                (at, entry, *part <= PART)
            })
            .collect();
        // What a reading keeps longest comes first: secrets before others, those that were validated
        // before those that only look like it, new ones before old ones.
        all.sort_by_key(|(at, entry, _)| Reverse((entry.label.nature, entry.label.validated, *at)));
        let mut sums: BTreeMap<u64, usize> = BTreeMap::new();
        let mut turns: Vec<_> = all
            .into_iter()
            .map(|(at, entry, keeps)| {
                let sum = sums.entry(entry.round).or_default();
                *sum += held(&entry.windows);
                let over = sum.saturating_sub(SHARE);
                let turn = (keeps, entry.label.validated, entry.round);
                (Reverse(over), turn, Reverse(*sum), at)
            })
            .collect();
        turns.sort_unstable();
        turns.into_iter().map(|(.., at)| at).collect()
    }

    /// Drops values, and numbers the others anew in their order.
    fn drop_all(&mut self, going: &[bool]) {
        let mut next = 0_u16;
        let number = |goes: &bool| {
            let own = next;
            next += u16::from(!goes);
            (!goes).then_some(own)
        };
        let numbers: Vec<Option<u16>> = going.iter().map(number).collect();
        let new = |old: u16| numbers.get(usize::from(old)).copied().flatten();
        let renumber = |packed: &mut u64| {
            let old = u16::try_from(*packed >> 16 & 0xFFFF).unwrap_or(u16::MAX);
            let new = new(old);
            *packed = *packed & !0xFFFF_0000 | u64::from(new.unwrap_or(0)) << 16;
            new.is_some()
        };
        // Whoever comes later has the greater number, before and after: what was in order still is.
        self.windows.retain_mut(renumber);
        self.fresh.retain_mut(renumber);
        let left = std::mem::take(&mut self.left).into_iter();
        self.left = left
            .filter_map(|(old, bits)| Some((new(old)?, bits)))
            .collect();
        self.pending.retain_mut(|(_, number, _)| {
            let new = new(*number);
            *number = new.unwrap_or(0);
            new.is_some()
        });
        let mut at = 0;
        self.entries.retain(|_| {
            at += 1;
            !going.get(at - 1).copied().unwrap_or(false)
        });
        self.recount();
    }

    /// Brings up to date what is counted over all values.
    fn recount(&mut self) {
        let entries = self.entries.iter().zip(0_u16..);
        self.by_whole = entries.map(|(entry, at)| (entry.whole, at)).collect();
        self.held = self.entries.iter().map(|one| held(&one.windows)).sum();
        self.numbers.fill(0);
        let of_number: Vec<_> = self
            .entries
            .iter()
            .map(|one| (one.digits, one.length))
            .collect();
        for (digits, length) in of_number {
            self.count_number(digits, length);
        }
        self.labels.clear();
        for entry in &mut self.entries {
            entry.label = shared(&mut self.labels, &entry.label);
        }
        self.filter = vec![0; 1 << (FILTER_BITS - 6)];
        let windows = self.windows.iter().chain(&self.fresh);
        let windows: Vec<u32> = windows
            .map(|packed| u32::try_from(packed >> 32).unwrap_or(0))
            .collect();
        for window in windows {
            self.mark(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{
        CallId, DataOrigin, Label, Nature, Severity, Side, ToolName, UpstreamId, Wall,
    };

    use super::super::{ENTRIES, SecretPrint};
    use super::*;
    use crate::roll::scramble;

    fn origin(number: u64) -> DataOrigin {
        DataOrigin {
            call: CallId::new(number, 0),
            upstream: UpstreamId::new("github"),
            tool: ToolName::new("get_issue"),
            at: Wall(0),
            side: Side::Inside,
        }
    }

    /// Values as chance has them, so many symbols long.
    fn prints(seed: u64, count: u64, length: usize) -> Vec<SecretPrint> {
        let label = Label {
            kind: "key".into(),
            word: "api_token",
            severity: Severity::High,
            validated: false,
            nature: Nature::Secret,
        };
        let symbol = |number: u64| {
            let digit = u32::try_from(scramble(number) % 36).unwrap();
            char::from_digit(digit, 36).unwrap()
        };
        let value = |number: u64| -> String {
            let first = scramble(seed << 32 | number);
            (0..length as u64)
                .map(|at| symbol(first.wrapping_add(at)))
                .collect()
        };
        (0..count)
            .map(|number| SecretPrint::of(&value(number), &label).unwrap())
            .collect()
    }

    #[test]
    fn one_reading_full_of_values_pushes_out_none_of_another() {
        let check = |count: u64, length: usize| {
            let mut vault = Vault::default();
            let has = |vault: &Vault, print: &SecretPrint| {
                let number = vault.find_whole(print.whole);
                let entry = number.and_then(|number| vault.entry(number));
                entry.is_some_and(|entry| {
                    let mut led = false;
                    let windows = entry.windows.iter();
                    windows.for_each(|window| {
                        vault.find(*window, |found, _| led |= Some(found) == number);
                    });
                    led && entry.whole == print.whole
                })
            };
            let own = prints(1, 40, 24);
            vault.add(&own, &origin(1));
            vault.add(&prints(2, count, length), &origin(2));
            assert!(vault.is_full());
            let new = prints(3, 200, 24);
            vault.add(&new, &origin(3));
            for print in own.iter().chain(&new) {
                assert!(has(&vault, print), "{count} of {length}");
            }
            assert!(vault.held <= WINDOWS && vault.entries.len() <= ENTRIES);
            assert!(vault.bytes() < 3 << 20, "{}", vault.bytes());
        };
        check(200, 5_000);
        check(4_000, 24);
        check(20_000, 7);
    }

    #[test]
    fn of_many_readings_the_oldest_goes_first() {
        let mut vault = Vault::default();
        let reading = |number: u64| prints(number, 100, 24);
        for number in 0..60 {
            vault.add(&reading(number), &origin(number));
        }
        let known = |number: u64| {
            let prints = reading(number);
            let known = prints
                .iter()
                .filter(|one| vault.find_whole(one.whole).is_some());
            known.count()
        };
        assert_eq!([known(0), known(30), known(59)], [0, 100, 100]);
    }

    #[test]
    fn a_flood_of_keys_pushes_out_nothing_of_another_nature_and_nothing_validated() {
        let mut vault = Vault::default();
        let mut own = prints(1, 3, 24);
        for (print, nature) in own
            .iter_mut()
            .zip([Nature::Typed, Nature::Personal, Nature::Secret])
        {
            print.label.nature = nature;
            print.label.validated = nature == Nature::Secret;
        }
        vault.add(&own, &origin(1));
        for number in 2..80 {
            vault.add(&prints(number, 100, 24), &origin(number));
        }
        assert!(vault.is_full());
        for print in &own {
            assert!(vault.find_whole(print.whole).is_some(), "{:?}", print.label);
        }
    }

    #[test]
    fn what_left_of_a_value_stays_with_it_when_others_go() {
        let mut vault = Vault::default();
        vault.add(&prints(1, 4, 24), &origin(1));
        vault.add(&prints(2, 1, 24), &origin(2));
        let last = prints(2, 1, 24);
        let number = |vault: &Vault| vault.find_whole(last[0].whole).unwrap();
        let mut bits = super::super::Bits::default();
        bits.set(3);
        let (call, other) = (CallId::new(9, 0), CallId::new(10, 0));
        vault.reserve(call, number(&vault), bits.clone());
        vault.settle(call, true);
        vault.reserve(other, number(&vault), bits.clone());
        vault.drop_all(&[true, false, true, false, false]);
        assert_eq!(vault.entries.len(), 3);
        assert_eq!(vault.gone(number(&vault)), bits);
        assert!(vault.settle(other, true));
    }
}
