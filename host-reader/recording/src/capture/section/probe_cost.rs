//! Time that a probe costs on each RISC, as measured by a calibration kernel in a run.
//!
//! Kind 11, version 1.0:
//!
//! ```text
//!  0  u32  entry count
//!  4  u32  bytes of one entry
//!  8  ...  entries
//! ```
//!
//! Layout of an entry. All costs are in cycles. "Added" is the time by which a probe lengthens the
//! zone around it, and "shown" is the duration that an empty zone records:
//!
//! ```text
//!  0  u32  chip id                        16  u64  added by a nested zone
//!  4  u8   RISC, in report order          24  u64  added by 8 bytes of data
//!  5  3 B  0                              32  u64  added by 16 bytes of data
//!  8  u64  shown by an empty zone         40  u64  added by an event
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, number_of, put_u32s, put_u64s},
    memory::risc_of_number,
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::probe_cost::{ProbeCost, ProbeCostRow, ProbeCosts};
use wire::Risc;

impl<'file> Payload<'file> for ProbeCosts {
    const KIND: SectionKind = SectionKind::PROBE_COST;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.rows().len())?, ENTRY_BYTES]);
        for ProbeCostRow { chip_id, risc, cost } in self.rows() {
            put_u32s(buffer, [chip_id]);
            buffer.extend([number_of(&Risc::ALL, &risc), 0, 0, 0]);
            put_u64s(buffer, [cost.empty_zone_cycles, cost.nested_zone_cycles, cost.data_cycles]);
            put_u64s(buffer, [cost.wide_data_cycles, cost.event_cycles]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head = fields.record("head", 8)?.u32s();
        let mut costs = Self::default();
        for mut entry in fields.records("entries", ENTRY_BYTES, head)? {
            let [chip_id] = entry.u32s();
            let [risc, ..] = entry.u8s::<4>();
            let [empty_zone_cycles, nested_zone_cycles, data_cycles] = entry.u64s();
            let [wide_data_cycles, event_cycles] = entry.u64s();
            let cost = ProbeCost {
                empty_zone_cycles,
                nested_zone_cycles,
                data_cycles,
                wide_data_cycles,
                event_cycles,
            };
            costs.insert(chip_id, risc_of_number(risc, &fields)?, cost);
        }
        Ok(costs)
    }
}

const ENTRY_BYTES: u32 = 48;

#[cfg(test)]
mod tests {
    use super::*;

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
