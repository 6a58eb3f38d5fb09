//! Files of one table of an export: none if there are no rows, several if there are many.

use super::{
    WriteError,
    cells::FileColumn,
    folders::{ExportPlace, NewFolders},
    rows::{RowFile, file_columns},
    write_refused,
};
use crate::{
    CancelFlag,
    destination::{PartFile, PreparedFile},
};
use std::{marker::PhantomData, sync::Arc};
use tables::Table;

/// Length at which a file ends and the next one begins. The length is so large that engines open
/// few files, and so small that they can read several files in parallel.
pub(super) const FILE_BYTES: u64 = 256 << 20;

/// Complete files of one table that do not have their final names yet.
#[derive(Default)]
pub(super) struct Written {
    pub(super) files: Vec<(String, PreparedFile)>,
    pub(super) row_count: u64,
}

/// Location of new files, and the flag that cancels writing.
pub(super) struct Opening {
    pub(super) place: ExportPlace,
    pub(super) folders: NewFolders,
    pub(super) cancel: CancelFlag,
    /// True if all rows belong to one recording.
    pub(super) has_one_recording: bool,
}

/// Files of a table that is being written.
pub(super) struct TableFiles<T: Table> {
    opening: Arc<Opening>,
    columns: Vec<FileColumn>,
    sorted_by: &'static [&'static str],
    open: Option<(String, RowFile<PartFile>)>,
    /// Number for the next file.
    next_number: Option<usize>,
    written: Written,
    table: PhantomData<fn(T)>,
}

impl<T: Table> TableFiles<T> {
    /// Creates a table without files. The rows of a recording must be added in the order of the
    /// columns `sorted_by`.
    pub(super) fn new(opening: &Arc<Opening>, sorted_by: &'static [&'static str]) -> Self {
        Self {
            opening: Arc::clone(opening),
            columns: file_columns::<T>(),
            sorted_by: if opening.has_one_recording { sorted_by } else { &[] },
            open: None,
            next_number: None,
            written: Written::default(),
            table: PhantomData,
        }
    }

    /// Adds a row. Starts a new file if none is open or the current file is long enough.
    pub(super) fn add(&mut self, row: &T::Row<'_>) -> Result<(), WriteError> {
        let (path, file) = match &mut self.open {
            Some(open) => open,
            None => {
                let begun = self.begin()?;
                self.open.insert(begun)
            }
        };
        let cells = file.cells.iter_mut().zip(T::COLUMNS);
        let mut pushed = cells.map(|(cells, column)| cells.push(column.value(row)));
        let added = pushed.try_for_each(|result| result).and_then(|()| file.added(1));
        added.map_err(|error| write_refused(&self.opening.place.dataset, path, error))?;
        if file.byte_count() >= FILE_BYTES { self.end() } else { Ok(()) }
    }

    /// Completes the files after the last row.
    pub(super) fn finish(mut self) -> Result<Written, WriteError> {
        self.end()?;
        Ok(self.written)
    }

    fn begin(&mut self) -> Result<(String, RowFile<PartFile>), WriteError> {
        let Opening { place, folders, cancel, .. } = &*self.opening;
        let (dataset, folder) = (&place.dataset, place.folder(T::NAME));
        let number = match self.next_number {
            Some(number) => number,
            None => self.first_number()?,
        };
        self.next_number = Some(number.saturating_add(1));
        folders.make(dataset, &folder).map_err(|source| dataset.refused(&folder, source))?;
        let path = format!("{folder}/{}", place.file_name(number));
        let file = dataset.create(&path, cancel)?;
        let begun = RowFile::new(file, T::NAME, &self.columns, self.sorted_by, Vec::new());
        let begun = begun.map_err(|error| write_refused(dataset, &path, error))?;
        Ok((path, begun))
    }

    /// Returns the number in the name of the first file that this export writes for the table.
    ///
    /// If the dataset has logs, all existing files of the export have lower numbers. A file in a
    /// log is never overwritten, because readers of an earlier version of the log still read the
    /// file.
    fn first_number(&self) -> Result<usize, WriteError> {
        let place = &self.opening.place;
        if !place.has_logs()? {
            return Ok(0);
        }
        let own = place.own_files(T::NAME)?;
        let last = own.iter().map(|&(_, number)| number).max();
        Ok(last.map_or(0, |last| last.saturating_add(1)))
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let Some((path, file)) = self.open.take() else { return Ok(()) };
        let finished = file.finish();
        let (file, row_count) =
            finished.map_err(|error| write_refused(&self.opening.place.dataset, &path, error))?;
        self.written.row_count += row_count;
        self.written.files.push((path, file.finish()?));
        Ok(())
    }
}
