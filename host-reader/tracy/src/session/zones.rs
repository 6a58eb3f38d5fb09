//! Zones and messages of the program's threads.

use super::Session;
use crate::{
    item::Item,
    protocol::ItemKind,
    recording::{TracyMessage, ZoneExtra},
    texts::TextRef,
    threads::append_line,
};

impl Session {
    pub(super) fn take_zone_item(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        match item.kind {
            Kind::ThreadContext => {
                self.thread_time.reset();
                self.threads.set_current(fields.u32()?, &mut self.queries);
            }
            Kind::ZoneBegin | Kind::ZoneBeginCallstack => {
                let distance = fields.far_distance()?;
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBegin32 | Kind::ZoneBeginCallstack32 => {
                let distance = fields.near_distance()?;
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBegin16 | Kind::ZoneBeginCallstack16 => {
                let distance = fields.u16()?.into();
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBeginAllocSrcLoc | Kind::ZoneBeginAllocSrcLocCallstack => {
                return self.begin_zone(item.kind, fields.i64()?, None);
            }
            Kind::ZoneEnd => self.end_zone(fields.far_distance()?),
            Kind::ZoneEnd32 => self.end_zone(fields.near_distance()?),
            Kind::ZoneEnd16 => self.end_zone(fields.u16()?.into()),
            Kind::ZoneValidation => self.threads.expect(fields.u32()?, &mut self.queries),
            Kind::ZoneText => {
                let line = self.first_text.take()?;
                self.change_zone(|extra| append_line(extra, &line));
            }
            Kind::ZoneName => {
                let name = self.first_text.take()?;
                self.change_zone(|extra| extra.name = Some(name));
            }
            Kind::ZoneColor => {
                let color = fields.color()?;
                self.change_zone(|extra| extra.color = Some(color));
            }
            Kind::ZoneValue => {
                let value = fields.u64()?;
                self.change_zone(|extra| append_line(extra, &format!("{value} [{value:#x}]")));
            }
            Kind::FiberEnter => {
                self.thread_time.advance(fields.i64()?);
                let key = fields.u64()?;
                self.threads.begin_fiber(fields.u32()?, key, &mut self.queries);
            }
            _ => {
                self.thread_time.advance(fields.i64()?);
                self.threads.leave_fiber(fields.u32()?);
            }
        }
        Some(())
    }

    fn begin_zone(&mut self, kind: ItemKind, distance: i64, address: Option<u64>) -> Option<()> {
        use ItemKind as Kind;
        let start_ns = self.clock.ns(self.thread_time.advance(distance));
        let has_callstack = matches!(
            kind,
            Kind::ZoneBeginCallstack
                | Kind::ZoneBeginCallstack32
                | Kind::ZoneBeginCallstack16
                | Kind::ZoneBeginAllocSrcLocCallstack
        );
        let callstack = has_callstack.then(|| self.threads.take_callstack(&mut self.queries));
        let location = match address {
            Some(address) => self.locations.at(address, &mut self.queries)?,
            None => self.locations.take_next()?,
        };
        let zone = self.has_room().then_some((location, start_ns, callstack.flatten()));
        self.threads.begin(zone, &mut self.queries);
        Some(())
    }

    fn end_zone(&mut self, distance: i64) {
        let end_ns = self.clock.ns(self.thread_time.advance(distance));
        self.threads.end(end_ns, &mut self.damage, &mut self.queries);
    }

    fn change_zone(&mut self, change: impl FnOnce(&mut ZoneExtra)) {
        self.threads.change(&mut self.damage, &mut self.queries, change);
    }

    pub(super) fn take_message(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        let time_ns = self.clock.ns(fields.i64()?);
        let has_color = matches!(
            item.kind,
            Kind::MessageColor
                | Kind::MessageColorCallstack
                | Kind::MessageLiteralColor
                | Kind::MessageLiteralColorCallstack
        );
        let color = if has_color { Some(fields.color()?) } else { None };
        let is_literal = matches!(
            item.kind,
            Kind::MessageLiteral
                | Kind::MessageLiteralColor
                | Kind::MessageLiteralCallstack
                | Kind::MessageLiteralColorCallstack
        );
        let (text, metadata) = if is_literal {
            let (address, metadata) = fields.protocol.untagged(fields.u64()?);
            (self.texts.at(address, &mut self.queries), metadata)
        } else {
            let metadata = if fields.protocol.message_has_severity() { fields.u8() } else { None };
            (TextRef::Here(self.first_text.take()?), metadata)
        };
        let has_callstack = matches!(
            item.kind,
            Kind::MessageCallstack
                | Kind::MessageColorCallstack
                | Kind::MessageLiteralCallstack
                | Kind::MessageLiteralColorCallstack
        );
        let callstack = has_callstack.then(|| self.threads.take_callstack(&mut self.queries));
        let thread = self.threads.current(&mut self.queries);
        if self.has_room() {
            let callstack = callstack.flatten();
            let no_text = Box::default();
            let message =
                TracyMessage { thread, time_ns, text: no_text, color, metadata, callstack };
            self.messages.push((text, message));
        }
        Some(())
    }
}
