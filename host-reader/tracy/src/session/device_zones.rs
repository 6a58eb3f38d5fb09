//! Zones and clocks of the program's devices.

use super::Session;
use crate::{fields::Fields, item::Item, protocol::ItemKind};

impl Session {
    pub(super) fn take_device_item(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let fields = item.fields;
        let found = match item.kind {
            Kind::GpuNewContext => self.devices.announce(fields, self.clock),
            Kind::GpuContextName => {
                let name = self.first_text.take().unwrap_or_default();
                self.devices.name(fields, name)
            }
            Kind::GpuTime => self.devices.time(fields),
            Kind::GpuCalibration => self.devices.calibrate(fields, self.clock),
            Kind::GpuTimeSync => self.devices.synchronise(fields, self.clock),
            Kind::GpuZoneEndSerial => {
                self.advance_serial_time(fields)?;
                self.devices.end(fields)
            }
            Kind::GpuZoneEnd => {
                self.advance_thread_time(fields)?;
                self.devices.end(fields)
            }
            Kind::GpuZoneBegin
            | Kind::GpuZoneBeginCallstack
            | Kind::GpuZoneBeginAllocSrcLoc
            | Kind::GpuZoneBeginAllocSrcLocCallstack => {
                self.advance_thread_time(fields)?;
                self.begin_device_zone(item)
            }
            Kind::GpuZoneBeginSerial
            | Kind::GpuZoneBeginCallstackSerial
            | Kind::GpuZoneBeginAllocSrcLocSerial
            | Kind::GpuZoneBeginAllocSrcLocCallstackSerial => {
                self.advance_serial_time(fields)?;
                self.begin_device_zone(item)
            }
            Kind::GpuZone => {
                let is_kept = self.has_room();
                let Self { devices, locations, queries, .. } = self;
                devices.whole_zone(fields, is_kept, |address| locations.at(address, queries))
            }
            _ => return None,
        };
        if found.is_none() {
            let stray = &mut self.damage.stray_device_items;
            *stray = stray.saturating_add(1);
        }
        Some(())
    }

    /// Advances the thread's time by the time difference in an item about a device zone.
    fn advance_thread_time(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.thread_time.advance(fields.i64()?);
        Some(())
    }

    /// Advances the serial queue's time by the time difference in an item about a device zone.
    fn advance_serial_time(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.serial_time.advance(fields.i64()?);
        Some(())
    }

    fn begin_device_zone(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let is_payload = matches!(
            item.kind,
            Kind::GpuZoneBeginAllocSrcLoc
                | Kind::GpuZoneBeginAllocSrcLocCallstack
                | Kind::GpuZoneBeginAllocSrcLocSerial
                | Kind::GpuZoneBeginAllocSrcLocCallstackSerial
        );
        let next = self.locations.take_next();
        let has_room = self.has_room();
        let Self { devices, locations, queries, .. } = self;
        devices.begin(item.fields, has_room, |fields| {
            if is_payload { next } else { locations.at(fields.u64()?, queries) }
        })
    }
}
