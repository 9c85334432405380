//! Pseudo-random numbers derived from texts, so that simulated models are deterministic.

/// A sequence of pseudo-random numbers that depends only on a list of texts.
pub(super) struct HashedRandom(u64);

impl HashedRandom {
    /// Creates the sequence of these texts from their FNV-1a hash, with a separator after each.
    pub(super) fn from_texts(texts: &[&str]) -> Self {
        let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xFF]));
        Self(bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        }))
    }

    /// Returns the next number (SplitMix64).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an integer below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Returns a number from an approximate standard normal distribution.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}
