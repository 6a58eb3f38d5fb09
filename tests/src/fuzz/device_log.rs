//! Checks of the device log reader and writer.

use super::{check_anomalies, check_columns};
use host_reader::{
    log::{read_device_log, write_device_log},
    readout::Readout,
};

/// Reads bytes as a device log, writes the result as another log and reads that back.
///
/// # Panics
/// If there are more rows than lines, or if writing and reading back loses or changes a row.
pub fn device_log(data: &[u8]) {
    let Ok(readout) = read_device_log(data, "log") else { return };
    check(&readout, data);
    let (text, row_count) = written(&readout);
    assert_eq!(row_count, readout.record_count() as u64, "rows written");
    let again = read_device_log(text.as_slice(), "written log");
    let again = again.unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    check(&again, &text);
    assert_eq!(again.record_count(), readout.record_count(), "rows read back");
    assert_eq!(written(&again).1, row_count);
}

fn check(readout: &Readout, text: &[u8]) {
    readout.lanes().for_each(check_columns);
    check_anomalies(&readout.anomalies);
    let line_count = text.split(|&byte| byte == b'\n' || byte == b'\r').count();
    assert!(readout.record_count() <= line_count, "{} rows", readout.record_count());
}

fn written(readout: &Readout) -> (Vec<u8>, u64) {
    let mut text = Vec::new();
    match write_device_log(readout, &mut text) {
        Ok(report) => (text, report.row_count),
        Err(error) => panic!("writing to memory failed: {error}"),
    }
}
