//! Performance figures of programs after each read of a mesh, for hosts that query them at run
//! time.

use crate::{
    capture::{MeshRecorder, RecordError},
    mesh::Mesh,
    recording::Recording,
    report::ProgramsPerfData,
};

/// Reads the records written since the last read of `mesh`, and adds the figures of their programs
/// to `programs`. If nothing can be read, `programs` is unchanged.
///
/// ```
/// use host_reader::{
///     ReadOptions, recording::capture::MeshRecorder, mesh::MeshImage, programs::read_programs,
///     report::ProgramsPerfData,
/// };
/// let mut mesh = MeshImage { devices: Vec::new() };
/// let mut recorder = MeshRecorder::new(ReadOptions::default(), None);
/// let mut programs = ProgramsPerfData::default();
/// assert!(read_programs(&mut recorder, &mut mesh, &mut programs).is_err());
/// assert!(programs.latest().is_empty());
/// ```
///
/// # Errors
/// If nothing can be read, or if a capture cannot be written. If only writing the capture fails,
/// the programs are still added.
pub fn read_programs<M: Mesh + ?Sized>(
    recorder: &mut MeshRecorder,
    mesh: &mut M,
    programs: &mut ProgramsPerfData,
) -> Result<(), RecordError> {
    recorder.read_part(mesh, |part| {
        // The recording has the times of all tiles on one clock, so figures over several cores are
        // known.
        programs.add_read(&Recording::from_captured_run(part).readout);
    })
}
