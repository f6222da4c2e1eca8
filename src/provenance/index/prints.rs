//! A set of bare fingerprints, eight bytes a slot: what is left of atoms whose provenance was given up.

/// The set.
#[derive(Debug, Default)]
pub(crate) struct Prints {
    slots: Vec<u64>,
    used: usize,
}

impl Prints {
    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    /// Bytes that it would take after one more entry.
    pub(crate) fn bytes_after_insert(&self) -> usize {
        let slots = if self.is_full() { self.larger() } else { self.slots.len() };
        slots * size_of::<u64>()
    }

    fn is_full(&self) -> bool {
        self.used * 8 >= self.slots.len() * 7
    }

    /// The slots that it grows to.
    fn larger(&self) -> usize {
        (self.slots.len() + self.slots.len() / 2).max(1024)
    }

    /// Adds a fingerprint.
    pub(crate) fn insert(&mut self, print: u64) {
        if self.is_full() {
            let larger = vec![0; self.larger()];
            let old = std::mem::replace(&mut self.slots, larger);
            self.used = 0;
            for print in old {
                if print != 0 {
                    self.put(print);
                }
            }
        }
        self.put(print.max(1));
    }

    fn home(&self, print: u64) -> usize {
        super::spread(print, self.slots.len())
    }

    fn put(&mut self, print: u64) {
        let mut at = self.home(print);
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                *slot = print;
                self.used += 1;
                return;
            }
            if *slot == print {
                return;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// Whether a fingerprint is in the set.
    pub(crate) fn contains(&self, print: u64) -> bool {
        let print = print.max(1);
        let mut at = self.home(print);
        while let Some(slot) = self.slots.get(at) {
            if *slot == 0 {
                return false;
            }
            if *slot == print {
                return true;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        false
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_prints() {
        let mut set = Prints::default();
        assert!(!set.contains(3));
        for n in 0..5000_u64 {
            set.insert(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        assert!((0..5000_u64).all(|n| set.contains(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        assert!(!set.contains(77));
        set.clear();
        assert!(!set.contains(0x9e37_79b9_7f4a_7c15));
    }
}
