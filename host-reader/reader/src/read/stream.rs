//! Reading again and again, in memory that stays as large as the largest read.

use super::{ReadError, Reader, pool::Pool};
use crate::{mesh::Mesh, readout::Readout};
use std::{ops::Deref, sync::Arc};

/// The read that a runtime requests next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRead {
    /// A read.
    Now,
    /// A read if markers may be lost within `launches` more launches, else to be asked again.
    IfAboutToOverflow {
        /// As of [`Reader::about_to_overflow`].
        launches: u32,
    },
    /// A last read, with [`last_read`](super::ReadOptions::last_read).
    Last,
    /// No read any more.
    End,
}

/// The records, losses and anomalies that one read found new.
///
/// Whoever holds it owns it. When it is dropped, its memory goes back to the reader, which
/// uses it for a later read; [`StreamedRead::into_readout`] keeps it.
#[derive(Debug)]
pub struct StreamedRead {
    readout: Readout,
    pool: Arc<Pool>,
}

impl StreamedRead {
    /// Keeps what was read; the reader takes new memory in its place.
    #[must_use]
    pub fn into_readout(mut self) -> Readout {
        std::mem::take(&mut self.readout)
    }
}

impl Deref for StreamedRead {
    type Target = Readout;

    fn deref(&self) -> &Readout {
        &self.readout
    }
}

impl Drop for StreamedRead {
    fn drop(&mut self) {
        self.pool.recycle(std::mem::take(&mut self.readout));
    }
}

/// Reads of one mesh, one after the other; see [`Reader::reads`].
#[derive(Debug)]
pub struct Reads<'a, M: ?Sized, F> {
    reader: &'a mut Reader,
    mesh: &'a mut M,
    next: F,
    has_ended: bool,
}

impl Reader {
    /// Reads a mesh as often as `next` wants.
    ///
    /// Before each read, `next` has the mesh to itself, to launch programs or to wait. Each
    /// item is what was found new; launches that go on from one read to the next are marked
    /// [so](crate::lane::Lane::goes_on), so that appending all readouts gives what one read of
    /// everything would. A read that fails is an error and ends nothing.
    ///
    /// # Cost
    /// As single reads. Once the reads are as large as they get, and dropped before the next
    /// one, no memory is taken for words and records.
    ///
    /// ```
    /// # use reader::{mesh::Mesh, read::NextRead, ReadError, ReadOptions, Reader};
    /// # fn launch_something<M: ?Sized>(_mesh: &mut M) {}
    /// fn records_of_100_launches(mesh: &mut dyn Mesh) -> Result<usize, ReadError> {
    ///     let mut reader = Reader::new(ReadOptions::default());
    ///     let mut launched = 0;
    ///     let reads = reader.reads(mesh, |mesh| {
    ///         if launched == 100 {
    ///             return NextRead::Last;
    ///         }
    ///         launch_something(mesh);
    ///         launched += 1;
    ///         NextRead::IfAboutToOverflow { launches: 1 }
    ///     });
    ///     reads.map(|read| Ok(read?.record_count())).sum()
    /// }
    /// # let mut mesh = reader::mesh::MeshImage { devices: Vec::new() };
    /// # assert!(records_of_100_launches(&mut mesh).is_err());
    /// ```
    pub fn reads<'a, M, F>(&'a mut self, mesh: &'a mut M, next: F) -> Reads<'a, M, F>
    where
        M: Mesh + ?Sized,
        F: FnMut(&mut M) -> NextRead,
    {
        Reads { reader: self, mesh, next, has_ended: false }
    }

    /// Reads a mesh as often as `next` wants and shows each readout to `take`.
    ///
    /// # Errors
    /// The first read that fails ends the reading; see [`Reader::reads`] to go on.
    pub fn for_each_read<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        next: impl FnMut(&mut M) -> NextRead,
        mut take: impl FnMut(&Readout),
    ) -> Result<(), ReadError> {
        self.reads(mesh, next).try_for_each(|read| {
            take(&*read?);
            Ok(())
        })
    }

    fn streamed(&mut self, readout: Readout) -> StreamedRead {
        StreamedRead { readout, pool: Arc::clone(&self.pool) }
    }
}

impl<M, F> Reads<'_, M, F>
where
    M: Mesh + ?Sized,
    F: FnMut(&mut M) -> NextRead,
{
    /// Waits until a read is wanted; `None` if none is any more. The read is the last one if
    /// the answer says so.
    fn wanted(&mut self) -> Result<Option<bool>, ReadError> {
        while !self.has_ended {
            match (self.next)(self.mesh) {
                NextRead::Now => return Ok(Some(self.reader.options.last_read)),
                NextRead::IfAboutToOverflow { launches } => {
                    if self.reader.about_to_overflow(self.mesh, launches)? {
                        return Ok(Some(self.reader.options.last_read));
                    }
                }
                NextRead::Last => {
                    self.has_ended = true;
                    return Ok(Some(true));
                }
                NextRead::End => self.has_ended = true,
            }
        }
        Ok(None)
    }

    fn read(&mut self, is_last: bool) -> Result<StreamedRead, ReadError> {
        let before = std::mem::replace(&mut self.reader.options.last_read, is_last);
        let readout = self.reader.read(self.mesh);
        self.reader.options.last_read = before;
        readout.map(|readout| self.reader.streamed(readout))
    }
}

impl<M, F> Iterator for Reads<'_, M, F>
where
    M: Mesh + ?Sized,
    F: FnMut(&mut M) -> NextRead,
{
    type Item = Result<StreamedRead, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.wanted() {
            Ok(is_last) => is_last.map(|is_last| self.read(is_last)),
            Err(error) => Some(Err(error)),
        }
    }
}
