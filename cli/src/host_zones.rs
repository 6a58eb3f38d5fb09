//! Zones that record kprof's own work while a mesh is simulated or read. Their times come from the
//! mesh's host clock.

use host_reader::{
    host::{HostRecorder, HostRecorderOptions, HostSource},
    mesh::Mesh,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use wire::RunHostId;

/// Zone around the sampling of tile clocks.
pub(crate) static SYNCHRONISE_CLOCKS: HostSource =
    HostSource::new("SynchroniseClocks", module_path!(), file!(), line!());
/// Zone around the run of programs.
pub(crate) static RUN_PROGRAMS: HostSource =
    HostSource::new("RunPrograms", module_path!(), file!(), line!());
/// Zone around a read of the device profiler.
pub(crate) static READ_DEVICE_PROFILER: HostSource =
    HostSource::new("ReadDeviceProfiler", module_path!(), file!(), line!());

/// Source of the messages about recorded and replayed traces.
pub(crate) static TRACES: HostSource = HostSource::new("Traces", module_path!(), file!(), line!());

/// Recorder of zones, with times from the host clock of a mesh.
///
/// The clock of a simulated host advances only while the mesh works, so the recorder reads the
/// clock before and after each piece of work.
pub(crate) struct HostZones {
    recorder: HostRecorder,
    now_ns: Arc<AtomicU64>,
}

impl HostZones {
    pub(crate) fn new() -> Self {
        let now_ns = Arc::new(AtomicU64::new(0));
        let clock_ns = Arc::clone(&now_ns);
        let clock = Arc::new(move || clock_ns.load(Ordering::Relaxed));
        let options = HostRecorderOptions { clock: Some(clock), ..HostRecorderOptions::default() };
        Self { recorder: HostRecorder::new(options), now_ns }
    }

    /// Runs `work` and records it as a zone.
    pub(crate) fn zone<M: Mesh + ?Sized, T>(
        &self,
        mesh: &mut M,
        source: &'static HostSource,
        work: impl FnOnce(&mut M) -> T,
    ) -> T {
        self.zone_of_op(mesh, source, None, work)
    }

    /// Runs `work` and records it as a zone. If `id` is given, the zone belongs to the op with this
    /// id.
    pub(crate) fn zone_of_op<M: Mesh + ?Sized, T>(
        &self,
        mesh: &mut M,
        source: &'static HostSource,
        id: Option<RunHostId>,
        work: impl FnOnce(&mut M) -> T,
    ) -> T {
        self.look_at_clock(mesh);
        let mut zone = self.recorder.zone(source);
        if let Some(id) = id {
            zone.text(format!("id:{id}"));
        }
        let result = work(mesh);
        self.look_at_clock(mesh);
        drop(zone);
        result
    }

    /// Records a message at the current time of the mesh's host clock.
    pub(crate) fn message<M: Mesh + ?Sized>(
        &self,
        mesh: &mut M,
        source: &'static HostSource,
        text: &str,
    ) {
        self.look_at_clock(mesh);
        self.recorder.message(source, text);
    }

    /// Records a point of a plot at the current time of the mesh's host clock.
    pub(crate) fn plot<M: Mesh + ?Sized>(&self, mesh: &mut M, source: Arc<HostSource>, value: f64) {
        self.look_at_clock(mesh);
        self.recorder.plot_of(source, value);
    }

    pub(crate) const fn recorder(&self) -> &HostRecorder {
        &self.recorder
    }

    fn look_at_clock<M: Mesh + ?Sized>(&self, mesh: &mut M) {
        if let Some(device) = mesh.device(0) {
            self.now_ns.store(device.host_time_ns(), Ordering::Relaxed);
        }
    }
}
