//! Assertions about sums that hold for every explanation.

use causes::Explanation;

pub(crate) fn assert_whole(explanation: &Explanation, what: &str) {
    let devices = explanation.devices.iter().map(|device| &device.time);
    let phases = explanation.phases.iter().flat_map(|phase| &phase.devices).map(|of| &of.time);
    let ops = explanation.ops.iter().map(|op| &op.time);
    let mut count = 0;
    for time in devices.chain(phases).chain(ops) {
        let tenths: f64 = time.shares.iter().map(|share| (share.percent * 10.0).round()).sum();
        assert_eq!((tenths, time.shares.len()), (1000.0, 8), "{what}");
        let cycles: f64 = time.shares.iter().map(|share| share.cycles).sum();
        let total = time.total_cycles as f64;
        assert!((cycles - total).abs() <= 1.0 + total * 1e-9, "{what}: {cycles} of {total}");
        assert!(time.shares.iter().all(|share| share.cycles >= 0.0), "{what}");
        count += 1;
    }
    assert!(count > 0, "{what}");
}
