//! Costs of probes on the RISCs of a run, as measured by a calibration kernel.
//!
//! Kind 11, version 1.0:
//!
//! ```text
//!  0  u32  entry count
//!  4  u32  bytes of one entry
//!  8  ...  entries
//! ```
//!
//! Layout of an entry, with costs in cycles:
//!
//! ```text
//!  0  u32  chip id                        16  u64  added by a zone inside
//!  4  u8   RISC, in report order          24  u64  added by 8 bytes of data
//!  5  3 B  0                              32  u64  added by 16 bytes of data
//!  8  u64  shown by an empty zone         40  u64  added by an event
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, put_entries, raw_records},
    memory::{risc_number, risc_of_number},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::probe_cost::{ProbeCost, ProbeCostRow, ProbeCosts};
use zerocopy::little_endian::{U32, U64};

impl<'file> Payload<'file> for ProbeCosts {
    const KIND: SectionKind = SectionKind::PROBE_COST;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_entries(buffer, self.rows().len(), self.rows().map(RawEntry::new))
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let entries = fields.entries::<RawEntry>()?;
        let mut costs = Self::default();
        for entry in entries {
            costs.insert(entry.chip_id.get(), risc_of_number(entry.risc, &fields)?, entry.cost());
        }
        Ok(costs)
    }
}

raw_records! {
    RawEntry: 48 => {
        chip_id: U32,
        risc: u8,
        reserved: [u8; 3],
        cycles: [U64; 5],
    }
}

impl RawEntry {
    fn new(row: ProbeCostRow) -> Self {
        let ProbeCost {
            empty_zone_cycles,
            nested_zone_cycles,
            data_cycles,
            wide_data_cycles,
            event_cycles,
        } = row.cost;
        let cycles =
            [empty_zone_cycles, nested_zone_cycles, data_cycles, wide_data_cycles, event_cycles];
        Self {
            chip_id: U32::new(row.chip_id),
            risc: risc_number(row.risc),
            reserved: [0; 3],
            cycles: cycles.map(U64::new),
        }
    }

    const fn cost(&self) -> ProbeCost {
        let [empty, nested, data, wide_data, event] = self.cycles;
        ProbeCost {
            empty_zone_cycles: empty.get(),
            nested_zone_cycles: nested.get(),
            data_cycles: data.get(),
            wide_data_cycles: wide_data.get(),
            event_cycles: event.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Risc;

    #[test]
    fn the_bytes_lie_where_the_table_says() {
        let mut costs = ProbeCosts::default();
        let cost = ProbeCost {
            empty_zone_cycles: 0x0102,
            nested_zone_cycles: 0x0304,
            data_cycles: 5,
            wide_data_cycles: 6,
            event_cycles: 7,
        };
        costs.insert(9, Risc::Ncrisc, cost);
        let mut bytes = Vec::new();
        costs.encode(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 8 + 48);
        assert_eq!(bytes[..16], [1, 0, 0, 0, 48, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!((&bytes[16..18], bytes[24..26].to_vec()), (&[2, 1][..], vec![4, 3]));
        assert_eq!([bytes[32], bytes[40], bytes[48]], [5, 6, 7]);
        assert_eq!(ProbeCosts::decode(&bytes), Ok(costs));
    }

    #[test]
    fn a_risc_that_does_not_exist_is_a_fault() {
        let mut bytes = vec![0; 56];
        (bytes[0], bytes[4], bytes[12]) = (1, 48, 99);
        assert_eq!(ProbeCosts::decode(&bytes).unwrap_err().field, "RISC");
    }
}
