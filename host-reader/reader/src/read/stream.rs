//! Repeated reads of a mesh. The memory use is limited by the largest read.

use super::{ReadError, Reader, pool::Pool};
use crate::{mesh::Mesh, readout::Readout};
use std::{ops::Deref, sync::Arc};

/// The next action that the caller of repeated reads requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRead {
    /// A read.
    Now,
    /// A read if markers may be lost within the next `launches` launches. Otherwise `next` is
    /// called again.
    IfAboutToOverflow {
        /// Number of launches, as for [`Reader::about_to_overflow`].
        launches: u32,
    },
    /// A last read, with [`last_read`](super::ReadOptions::last_read).
    Last,
    /// The end; no further read.
    End,
}

/// The new records, losses and anomalies of one read.
///
/// When this value is dropped, the reader reuses the memory for a later read.
/// [`StreamedRead::into_readout`] keeps the memory.
#[derive(Debug)]
pub struct StreamedRead {
    readout: Readout,
    pool: Arc<Pool>,
}

impl StreamedRead {
    /// Returns the readout and keeps its memory; the reader allocates new memory.
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

/// Iterator over repeated reads of one mesh; see [`Reader::reads`].
#[derive(Debug)]
pub struct Reads<'a, M: ?Sized, F> {
    reader: &'a mut Reader,
    mesh: &'a mut M,
    next: F,
    has_ended: bool,
}

impl Reader {
    /// Reads a mesh repeatedly, under the control of `next`.
    ///
    /// Before each read, `next` has exclusive access to the mesh, to launch programs or to wait.
    /// Each item contains the new data. Launches that continue from one read to the next are marked
    /// by [`Lane::goes_on`](crate::lane::Lane::goes_on), so appending all readouts gives the same
    /// result as a single read. A failed read is an error item; the iteration continues.
    ///
    /// # Cost
    /// The same as for single reads. No memory is allocated for words and records if reads no
    /// longer grow and each item is dropped before the next read.
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

    /// Reads a mesh repeatedly, under the control of `next`, and passes each readout to `take`.
    ///
    /// # Errors
    /// Returns the error of the first failed read. Use [`Reader::reads`] to continue after
    /// failures.
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
    /// Calls `next` until a read is requested. Returns true if it is the last read, or `None` at
    /// the end.
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
