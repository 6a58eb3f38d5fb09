//! The last read of a process that a signal ends while it waits for ever in a call of ttnn.

use super::{SharedSession, add_zone_names};
use host_reader::zone_names::ZoneNames;
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, TryLockError, Weak},
    thread,
    time::{Duration, Instant},
};
use ttnn::{Session, SessionError, launches::OpNames};

/// The sessions of this process, and the process that has begun them: after a fork, the child's list
/// has those of its parent, too.
static OPEN: Mutex<Vec<(u32, WeakSession)>> = Mutex::new(Vec::new());

type WeakSession = Weak<Mutex<Option<Session>>>;

/// Lets [`finish_all`] find a session.
pub(super) fn remember(session: &SharedSession) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, session)| session.strong_count() > 0);
    open.push((std::process::id(), std::sync::Arc::downgrade(session)));
}

/// Reads the chips of all sessions of this process from outside, and ends their captures. Prints what
/// was kept.
pub(crate) fn finish_all() {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    let own = open.into_iter().filter(|(process, _)| *process == std::process::id());
    for session in own.filter_map(|(_, session)| session.upgrade()) {
        let Some(mut session) = taken(&session) else { continue };
        let read = read(&mut session);
        let link = session.link().cloned();
        let records = session.recorder.readout().record_count();
        let finished = session.recorder.finish().map(|_| ()).map_err(SessionError::from);
        let tables = link.map_or(Ok(()), |link| link.write_tables());
        match read {
            Ok(missing) if missing.is_empty() => eprintln!(
                "kprof: the chips' memory was read without a launch: {records} records in all"
            ),
            Ok(missing) => eprintln!(
                "kprof: an unknown number of records since the last read is missing of chips \
                 {missing:?}, whose memory can only be read by launches"
            ),
            Err(error) => eprintln!("kprof: the chips' memory was not read: {error}"),
        }
        for error in [finished, tables].into_iter().filter_map(Result::err) {
            eprintln!("kprof: {error}");
        }
    }
}

/// Takes a session, unless it is in use for a long time.
fn taken(session: &Mutex<Option<Session>>) -> Option<Session> {
    let begun = Instant::now();
    loop {
        match session.try_lock() {
            Ok(mut session) => return session.take(),
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner().take(),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                eprintln!(
                    "kprof: a read of the chips has not ended, so that they are not read again"
                );
                return None;
            }
        }
    }
}

fn read(session: &mut Session) -> Result<Vec<u32>, SessionError> {
    let mut zones = ZoneNames::new();
    let named = std::env::var_os("KPROF_TTNN_ZONES").map(PathBuf::from);
    // Zones without names are recorded, too.
    if named.is_some_and(|log| matches!(add_zone_names(&mut zones, &log), Ok(Ok(_)))) {
        session.recorder.options_mut().zones = zones.finish().0;
    }
    if let Some(logs) = std::env::var_os("TT_METAL_LOGS_PATH") {
        let names = OpNames::open(&Path::new(&logs).join("generated/inspector"));
        session.name_ops(&names.unwrap_or_default().names)?;
    }
    session.read_from_outside()
}

/// Time for which another read may use a session.
const PATIENCE: Duration = Duration::from_secs(10);
