//! The two banks of a source register, SrcA or SrcB, which the unpackers and the matrix unit hand to
//! each other.

/// User of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Client {
    #[default]
    Unpackers,
    MatrixUnit,
}

/// A bank, and since when its user may use it.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    client: Client,
    since: u64,
}

/// SrcA or SrcB.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/TensixCoprocessor/SrcASrcB.md`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    banks: [Bank; 2],
    unpack_bank: usize,
    matrix_bank: usize,
}

impl Source {
    /// Returns the cycle since which the unpacker may write its bank; `None` if that is not known
    /// yet.
    pub(super) fn cleared_at(&self) -> Option<u64> {
        self.since(self.unpack_bank, Client::Unpackers)
    }

    /// Returns the cycle since which the matrix unit may read its bank; `None` if that is not known
    /// yet.
    pub(super) fn valid_at(&self) -> Option<u64> {
        self.since(self.matrix_bank, Client::MatrixUnit)
    }

    /// Returns the cycle since which the matrix unit has had no data in its bank; `None` if it has.
    pub(super) fn consumed_at(&self) -> Option<u64> {
        self.since(self.matrix_bank, Client::Unpackers)
    }

    fn since(&self, bank: usize, client: Client) -> Option<u64> {
        let bank = self.banks[bank];
        (bank.client == client).then_some(bank.since)
    }

    /// Gives the unpacker's bank to the matrix unit; returns the bank.
    pub(super) const fn give_to_matrix_unit(&mut self, cycle: u64) -> usize {
        let bank = self.unpack_bank;
        self.banks[bank] = Bank { client: Client::MatrixUnit, since: cycle };
        self.unpack_bank ^= 1;
        bank
    }

    /// Changes the cycle at which a bank comes to the matrix unit, because its data arrive later.
    pub(super) fn delay(&mut self, bank: usize, cycle: u64) {
        let bank = &mut self.banks[bank];
        if bank.client == Client::MatrixUnit {
            bank.since = cycle;
        }
    }

    /// Lets the matrix unit turn to its other bank, and gives the bank that it leaves to the
    /// unpacker if `is_given`.
    pub(super) const fn flip(&mut self, is_given: bool, cycle: u64) {
        if is_given {
            self.give_to_unpackers(cycle);
        }
        self.matrix_bank ^= 1;
    }

    /// Gives the matrix unit's bank to the unpacker.
    pub(super) const fn give_to_unpackers(&mut self, cycle: u64) {
        self.banks[self.matrix_bank] = Bank { client: Client::Unpackers, since: cycle };
    }

    /// Gives both banks to the unpacker, and lets both sides begin with the first bank.
    pub(super) const fn reset(&mut self, cycle: u64) {
        let bank = Bank { client: Client::Unpackers, since: cycle };
        *self = Self { banks: [bank; 2], unpack_bank: 0, matrix_bank: 0 };
    }
}
