//! One line per chip: its time as the sum of kernels, waiting for the host, and other time.

use crate::{
    no_cause::has_no_length, rules::duration, threshold::TRACED_GAP, time_class::TimeClass,
    timeline::DeviceTime,
};
use recording::problem::counted;

/// Maximum number of chips that get a line each. With more chips, only the chip with the longest
/// total time gets a line.
const NAMED_CHIPS: usize = 4;

/// Classes of time in which kernels ran.
const OF_KERNELS: [TimeClass; 4] =
    [TimeClass::Compute, TimeClass::DataMovement, TimeClass::Collective, TimeClass::Wait];

/// Returns a line for each chip, with the chip's time as a sum; empty if no op has a known length.
pub(crate) fn time_sums(devices: &[DeviceTime]) -> Vec<String> {
    // The first of the chips with the longest total time.
    let longest = devices.iter().rev().max_by_key(|device| device.time.total_ns);
    match devices.len() {
        1 => devices.iter().filter_map(sum_of).collect(),
        count if count <= NAMED_CHIPS => devices.iter().filter_map(chip_sum).collect(),
        _ => longest
            .and_then(chip_sum)
            .map(|sum| format!("{sum}. {}", among(devices, longest)))
            .into_iter()
            .collect(),
    }
}

/// Returns how many chips have the longest time.
fn among(devices: &[DeviceTime], longest: Option<&DeviceTime>) -> String {
    let count = devices.len();
    let time = |device: &DeviceTime| device.time.total_ns;
    match devices.iter().filter(|device| Some(time(device)) == longest.map(time)).count() {
        1 => format!("It has the most time of {count} chips"),
        equal if equal == count => format!("All {count} chips have this time"),
        equal => format!("{equal} of {count} chips have this time, the most"),
    }
}

fn chip_sum(device: &DeviceTime) -> Option<String> {
    let chip = device
        .chip_id
        .map_or_else(|| "Rows without a chip".to_owned(), |chip| format!("Chip {chip}"));
    Some(format!("{chip}: {}", sum_of(device)?))
}

fn sum_of(device: &DeviceTime) -> Option<String> {
    let whole = device.time.total_ns? as f64;
    let time = |class| device.time.class_ns(class).unwrap_or(0.0);
    let kernels = OF_KERNELS.map(time).iter().sum::<f64>();
    // In an ops CSV, time of unknown class belongs to kernels of ops of an unknown kind, and to ops
    // of unknown length.
    let unknown_kernels = match device.kernel_sum_ns {
        Some(sum_ns) if device.busy_ns.is_none() => {
            let others = (sum_ns as f64 - kernels).max(0.0);
            let is_any_untimed = device.untimed_op_count > 0;
            time(TimeClass::Unknown).min(if is_any_untimed { others } else { f64::INFINITY })
        }
        _ => 0.0,
    };
    let firmware = if device.has_firmware { "firmware, and " } else { "" };
    let gaps = match device.dispatcher_gap_count {
        0 => String::new(),
        count => format!(
            "{} in which the chip waited for its dispatcher, and ",
            counted(count, "gap", "gaps")
        ),
    };
    let other = if device.dispatcher_gap_count > 0 { "other " } else { "" };
    let launches = format!(
        "of launches ({firmware}{gaps}up to {} us before each {other}op)",
        TRACED_GAP.value
    );
    let parts = [
        (kernels + unknown_kernels, "of kernels"),
        (time(TimeClass::HostLate), "of waiting for the host"),
        (time(TimeClass::Dispatch), &launches),
        (time(TimeClass::Profiler), "of recording"),
        (time(TimeClass::Unknown) - unknown_kernels, "unknown"),
    ];
    let parts = parts.into_iter().filter(|(ns, _)| *ns >= 0.5);
    let parts: Vec<String> = parts.map(|(ns, name)| format!("{} {name}", duration(ns))).collect();
    let is_told = !has_no_length(device) && !parts.is_empty();
    let side_by_side = device.side_by_side.map_or_else(String::new, |of| {
        format!(
            ". {} of {} ops ran side by side, for {}{}, which counts once",
            of.op_count,
            device.op_count,
            if of.is_lower_bound { "at least " } else { "" },
            duration(of.duration_ns as f64)
        )
    });
    let sum = match parts.as_slice() {
        [_, _, ..] | [] => format!("{} = {}", duration(whole), parts.join(" + ")),
        [only] if device.time.has_gaps => format!("{} = {only}", duration(whole)),
        [only] => only.clone(),
    };
    let gaps = if device.time.has_gaps { "" } else { "; the gaps between ops are unknown" };
    is_told.then(|| format!("{sum}{gaps}{side_by_side}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_class::{ClassTimes, TimeSplit};

    fn device(chip_id: u32, classes: &[(TimeClass, f64)]) -> DeviceTime {
        let mut times = ClassTimes::default();
        classes.iter().for_each(|(class, ns)| times.add(*class, *ns));
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers")]
        let total = classes.iter().map(|(_, ns)| *ns as u64).sum();
        DeviceTime {
            chip_id: Some(chip_id),
            window: (0, total),
            op_count: 2,
            untimed_op_count: 0,
            dispatcher_gap_count: 0,
            time: TimeSplit::new(&times, total, 1000),
            busy_ns: Some(1),
            kernel_sum_ns: Some(1),
            side_by_side: None,
            collectives_alone_ns: None,
            has_firmware: true,
            do_clocks_disagree: false,
        }
    }

    #[test]
    fn the_whole_is_the_sum_of_its_parts() {
        let one = device(
            3,
            &[
                (TimeClass::Compute, 2e6),
                (TimeClass::DataMovement, 1e6),
                (TimeClass::HostLate, 5e6),
                (TimeClass::Dispatch, 12e3),
            ],
        );
        let sum = "8.0 ms = 3.0 ms of kernels + 5.0 ms of waiting for the host + 12 us of launches \
                   (firmware, and up to 6 us before each op)";
        assert_eq!(time_sums(std::slice::from_ref(&one)), [sum]);
        let other = device(5, &[(TimeClass::Unknown, 2e3), (TimeClass::Profiler, 1e3)]);
        let told = time_sums(&[one.clone(), other.clone()]);
        assert_eq!(told[0], format!("Chip 3: {sum}"));
        assert_eq!(told[1], "Chip 5: 3.0 us = 1.0 us of recording + 2.0 us unknown");
        let many = [other.clone(), other.clone(), other.clone(), other.clone(), one];
        assert_eq!(time_sums(&many), [format!("Chip 3: {sum}. It has the most time of 5 chips")]);
        let sum = "Chip 5: 3.0 us = 1.0 us of recording + 2.0 us unknown";
        let equal = vec![other.clone(); 5];
        assert_eq!(time_sums(&equal), [format!("{sum}. All 5 chips have this time")]);
        let shorter = device(9, &[(TimeClass::Unknown, 1e3), (TimeClass::Profiler, 1e3)]);
        let two = [shorter.clone(), other.clone(), shorter.clone(), other, shorter];
        let expected = format!("{sum}. 2 of 5 chips have this time, the most");
        assert_eq!(time_sums(&two), [expected]);
        assert_eq!(time_sums(&[]), [""; 0]);
        let nothing = DeviceTime { kernel_sum_ns: None, ..device(0, &[(TimeClass::Unknown, 1e3)]) };
        assert_eq!(time_sums(&[nothing]), [""; 0], "no op has a length");
    }
}
