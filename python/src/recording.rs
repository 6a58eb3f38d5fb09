//! Recordings, from files or meshes.

use crate::{
    tables::{self, Table, TableBuilder},
    value_error,
};
use arrow_schema::ArrowError;
use host_reader::{
    analysis::Report,
    causes::{Explanation, Window},
    export::{
        DeviceRows, DeviceTable, ExportFormat, HostRows, HostTable, Trace, TraceFilter, TraceHost,
    },
    lines,
    op_memory::usage_of,
    output::{Output, memory_of},
    perf::{PerfReport, read_ops_csv},
    recording::{Recording, load},
    report::BufferPeaks,
    tables::{
        Buffers, HostEvents, HostZones, Lines, LossRow, Losses, OpBuffers, OpObjects, Ops,
        ProfilerTime, RecordingKey, Rows, SumStatisticsTable, WaitStatisticsTable, WaitSums, Waits,
        ZoneStatisticsTable, op_rows,
    },
};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::{
    fs::File,
    io::BufReader,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use wire::RunHostId;

/// All recorded data of one run.
#[pyclass(name = "Recording", module = "kprof", frozen)]
pub(crate) struct PyRecording {
    pub(crate) recording: Arc<Recording>,
    title: String,
    report: OnceLock<Report>,
    /// File that may have the table of lines; `None` if the recording is not from a file.
    lines_path: Option<PathBuf>,
}

impl PyRecording {
    pub(crate) fn new(recording: Recording, title: String) -> Self {
        Self { recording: Arc::new(recording), title, report: OnceLock::new(), lines_path: None }
    }

    /// Returns the key of the recording: its title, and an empty host name.
    fn key(&self) -> RecordingKey<'_> {
        RecordingKey { host: "", recording: &self.title }
    }

    /// Builds a table of host data.
    fn host_table<T: HostTable>(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| {
            let host = TraceHost::from_recording(&self.recording);
            let peaks = BufferPeaks::from_recording(&self.recording);
            let rows = HostRows { host: &host, peaks: &peaks, recording: self.key() };
            let mut table = TableBuilder::<T>::new();
            T::for_each_row(rows, |row| table.add(row))?;
            table.finish()
        }))
    }

    /// Builds a table of data of all chips.
    fn device_table<T: DeviceTable>(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| {
            let trace = Trace::new(&self.recording, &TraceFilter::default());
            let mut table = TableBuilder::<T>::new();
            for device in &trace.devices {
                let rows = DeviceRows { trace: &trace, device, first_op: 0, recording: self.key() };
                T::for_each_row(rows, |row| table.add(row))?;
            }
            table.finish()
        }))
    }

    fn figures(&self) -> &Report {
        self.report.get_or_init(|| Report::new(&self.recording.readout))
    }
}

/// Returns the runs of a capture, a device log or a folder of logs, and the number of problems in a
/// capture. Logs have one run. The undamaged parts of a damaged capture are returned.
#[pyfunction]
pub(crate) fn open_recordings(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<PyRecording>, u64)> {
    let loaded = py.detach(|| load(&path)).map_err(|error| value_error(&error))?;
    let title = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into());
    let recordings = loaded.recordings.into_iter();
    let lines_path = Some(lines::beside_recording(&path));
    let recordings = recordings.map(|found| PyRecording {
        lines_path: lines_path.clone(),
        ..PyRecording::new(found, title.clone())
    });
    let recordings = recordings.collect();
    Ok((recordings, loaded.problem_count))
}

fn to_python(table: Result<Table, ArrowError>) -> PyResult<PyTable> {
    let made = table.and_then(|Table { schema, batches }| {
        PyTable::try_new(batches, schema)
            .map_err(|error| ArrowError::SchemaError(error.to_string()))
    });
    made.map_err(|error| value_error(&error))
}

/// Builds a table from texts, such as the cells of a CSV. Columns that hold only numbers become
/// numeric, and empty cells become null.
#[pyfunction]
pub(crate) fn table_of_texts(header: Vec<String>, columns: Vec<Vec<String>>) -> PyResult<PyTable> {
    to_python(tables::texts(&header, &columns))
}

/// Returns the causes of slowness in an ops CSV as one JSON text, for a `window` that `kprof explain`
/// knows.
#[pyfunction]
pub(crate) fn explain_ops_csv_json(
    py: Python<'_>,
    content: &[u8],
    name: &str,
    window: &str,
) -> PyResult<String> {
    let window = match window {
        "steady" => Window::Steady,
        "last" => Window::Last,
        "all" => Window::All,
        other => {
            let text = format!("expected steady, last or all as the window, found {other}");
            return Err(pyo3::exceptions::PyValueError::new_err(text));
        }
    };
    py.detach(|| {
        let csv = read_ops_csv(content, name).map_err(|error| value_error(&error))?;
        let report = PerfReport::new(vec![csv], &Explanation::report_options())
            .map_err(|error| value_error(&error))?;
        let explanation = Explanation::from_perf_window(&report, window);
        serde_json::to_string(&explanation).map_err(|error| value_error(&error))
    })
}

#[pymethods]
impl PyRecording {
    /// Title of the recording in traces and datasets.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// Number of records of every kind.
    #[getter]
    fn record_count(&self) -> usize {
        self.recording.readout.record_count()
    }

    /// True if the device or the reader lost records that the configuration does not exclude.
    #[getter]
    fn has_losses(&self) -> bool {
        self.recording.readout.losses.has_failures()
    }

    /// Messages about record sources that do not count their losses.
    #[getter]
    fn uncounted(&self) -> Vec<&'static str> {
        self.recording.readout.losses.uncounted().map(|source| source.label()).collect()
    }

    /// Names of the signposts.
    #[getter]
    fn signposts(&self) -> Vec<String> {
        self.recording.signpost_names().map(ToOwned::to_owned).collect()
    }

    /// Every record, lane by lane. The times of lanes with many records are not copied but shared
    /// with the recording.
    fn records(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| tables::records(&self.recording)))
    }

    /// Zones with their starts and ends.
    fn zones(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| tables::zones(&self.recording)))
    }

    /// Launches of programs.
    fn ops(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| {
            let texts = self.recording.op_texts();
            let ops: Vec<_> = self.figures().ops.ops().collect();
            TableBuilder::<Ops>::from_rows(op_rows(&ops, |op| {
                texts.get(&(op.chip_id, RunHostId(op.run_host_id))).copied().unwrap_or_default()
            }))
        }))
    }

    /// Name, program id and kernel duration in nanoseconds of each launch. Unknown names and
    /// durations are `None`.
    fn op_durations(&self, py: Python<'_>) -> Vec<(Option<String>, u32, Option<u64>)> {
        py.detach(|| {
            let names = self.recording.op_names();
            self.figures()
                .ops
                .ops()
                .map(|op| {
                    let program = RunHostId(op.run_host_id);
                    let name = names.get(&(op.chip_id, program)).map(|&name| name.to_owned());
                    (name, program.base(), op.kernel.and_then(|kernel| kernel.duration_ns))
                })
                .collect()
        })
    }

    /// Instructions with their source lines and cycles, and the number of rows that are not
    /// readable; `None` if the recording has no such table.
    fn lines(&self, py: Python<'_>) -> PyResult<Option<(PyTable, u64)>> {
        let Some(path) = self.lines_path.as_deref().filter(|path| path.is_file()) else {
            return Ok(None);
        };
        let found = py.detach(|| {
            let file = File::open(path).map_err(|error| value_error(&error))?;
            lines::read_csv(BufReader::new(file)).map_err(|error| value_error(&error))
        })?;
        let table = to_python(py.detach(|| TableBuilder::<Lines>::from_rows(found.rows)))?;
        Ok(Some((table, found.unreadable_count)))
    }

    /// Statistics of zones, by chip, RISC and name.
    fn zone_statistics(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(
            py.detach(|| TableBuilder::<ZoneStatisticsTable>::from_rows(&self.figures().zones)),
        )
    }

    /// Lost records, by lane, cause and program.
    fn losses(&self, py: Python<'_>) -> PyResult<PyTable> {
        to_python(py.detach(|| {
            let losses = &self.recording.readout.losses;
            TableBuilder::<Losses>::from_rows(LossRow::from_ledger(losses))
        }))
    }

    /// Zones of the host's threads.
    fn host_zones(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.host_table::<HostZones>(py)
    }

    /// Messages, signposts, frames and plots of the host.
    fn host_events(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.host_table::<HostEvents>(py)
    }

    /// Allocations and frees of the chips' buffers.
    fn buffers(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.host_table::<Buffers>(py)
    }

    /// For each op and kind of memory, the maximum number of bytes in buffers while the host worked
    /// on the op.
    fn op_buffers(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.host_table::<OpBuffers>(py)
    }

    /// Waits that were recorded individually.
    fn waits(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.device_table::<Waits>(py)
    }

    /// Sums of waits, by launch, RISC and object.
    fn wait_sums(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.device_table::<WaitSums>(py)
    }

    /// Time that RISCs spent in zones that measure the profiler itself.
    fn profiler_time(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.device_table::<ProfilerTime>(py)
    }

    /// All figures of the report as one JSON text.
    fn report_json(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| {
            let Report { summary, ops, zones, sums, waits, data, .. } = self.figures();
            let texts = self.recording.op_texts();
            let ops = OpObjects::new(ops, |op| {
                texts.get(&(op.chip_id, RunHostId(op.run_host_id))).copied().unwrap_or_default()
            });
            serde_json::to_string(&serde_json::json!({
                "summary": summary,
                "ops": ops,
                "zones": Rows::<ZoneStatisticsTable>(zones.iter().collect()),
                "sums": Rows::<SumStatisticsTable>(sums.iter().collect()),
                "waits": Rows::<WaitStatisticsTable>(waits.iter().collect()),
                "data": data,
            }))
        });
        text.map_err(|error| value_error(&error))
    }

    /// Causes of slowness as one JSON text.
    fn explain_json(&self, py: Python<'_>) -> PyResult<String> {
        let explained = py.detach(|| {
            let mut explanation = Explanation::from_recording(&self.recording);
            // Launch messages are in a file beside a capture.
            explanation.add_memory(&usage_of(&self.recording, Vec::new()));
            serde_json::to_string(&explanation)
        });
        explained.map_err(|error| value_error(&error))
    }

    /// The HTML report as text. The page needs no network.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| {
            let mut trace = Trace::new(&self.recording, &TraceFilter::default());
            self.title.clone_into(&mut trace.title);
            trace.memory = memory_of(&self.recording, &TraceFilter::default());
            ExportFormat::HTML.add_causes(&mut trace, &self.recording);
            let mut page = Vec::new();
            ExportFormat::HTML.write(&trace, &mut page, &mut |_| {}).map(|()| page)
        });
        let page = page.map_err(|error| value_error(&error))?;
        String::from_utf8(page).map_err(|error| value_error(&error))
    }

    /// Writes an output, such as `perfetto`, `html`, `ops` or `device-log`; `None` infers it from
    /// the ending of the path.
    #[pyo3(signature = (output, path, filter=None))]
    fn write(
        &self,
        py: Python<'_>,
        output: Option<&str>,
        path: PathBuf,
        filter: Option<&str>,
    ) -> PyResult<()> {
        let output = match output {
            Some(label) => label.parse::<Output>().map_err(|error| value_error(&error))?,
            None => Output::from_path(&path).map_err(|error| value_error(&error))?,
        };
        let filter = match filter {
            None => TraceFilter::default(),
            Some(terms) => terms.parse().map_err(|error| value_error(&error))?,
        };
        let written = py.detach(|| output.write(&self.recording, &self.title, &filter, &path));
        written.map_err(|error| value_error(&error))
    }

    fn __repr__(&self) -> String {
        let readout = &self.recording.readout;
        let chips = match readout.devices.len() {
            1 => "1 chip".to_owned(),
            count => format!("{count} chips"),
        };
        format!("<kprof.Recording {:?}: {chips}, {} records>", self.title, self.record_count())
    }

    /// Names of all outputs that can be written.
    #[staticmethod]
    fn outputs() -> Vec<&'static str> {
        Output::all().map(Output::label).collect()
    }
}
