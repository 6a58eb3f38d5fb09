//! Gaps of a chip whose host is ahead: the chip waits for its dispatcher.

use super::explain_ops;
use causes::{Cause, Explanation, TimeClass};

/// Explains 40 ops of 7 us on a chip of 1 GHz, 10 us apart, of which the host calls one every `call_us`; a call takes
/// 1 us. `is_dispatched` gives the file the columns of the dispatcher.
fn explained(call_us: u64, is_dispatched: bool) -> Explanation {
    let mut text =
        "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,HOST START TS,\
        HOST DURATION [ns],DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns],\
        DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],DISPATCH TOTAL CQ CMD OP TIME [ns],\
        DISPATCH GO SEND WAIT TIME [ns]\n"
            .to_owned();
    for op in 0..40 {
        let (called, start) = (900_000 + op * call_us * 1_000, 7_000_000 + op * 17_000);
        let (end, gap) = (start + 7_000, if op == 0 { 0 } else { 10_000 });
        let dispatcher = if is_dispatched { "16900,60" } else { "," };
        text += &format!(
            "Op{op},tt_dnn_device,{},0,wormhole_b0,64,{called},1000,{start},{end},7000,6500,{gap},{dispatcher}\n",
            op + 1
        );
    }
    explain_ops(&text)
}

fn ns_of(found: &Explanation, class: TimeClass) -> f64 {
    let share = found.devices[0].time.shares.iter().find(|share| share.class == class).unwrap();
    share.ns.unwrap()
}

/// The host calls an op every 5 us, and the chip starts one every 17: from the second op on, each had been called
/// before the gap before it. Of the first gap, 12 us after the first op's call, 10 us passed after the call.
#[test]
fn gaps_of_ops_that_had_been_called_are_the_dispatchers() {
    let found = explained(5, true);
    assert_eq!(ns_of(&found, TimeClass::HostLate), 0.0);
    // 39 gaps, and 500 ns of firmware around the kernels of 40 ops.
    assert_eq!(ns_of(&found, TimeClass::Dispatch), 39.0 * 10_000.0 + 40.0 * 500.0);
    assert!(found.findings.iter().all(|of| of.cause != Cause::Host), "{:#?}", found.findings);
    let launches = found.findings.iter().find(|of| of.cause == Cause::Dispatch).unwrap();
    let facts = [
        "the host had called the op before the gap in 39 of 39 gaps: there the chip waited for its dispatcher, not for \
         the host",
        "the dispatcher takes 17 us for the commands of an op and waits 60 ns for the workers before it starts one, \
         medians of 40 ops; it is behind the workers where it hardly waits for them",
    ];
    for fact in facts {
        assert!(launches.why.iter().any(|why| why == fact), "{fact}: {launches:#?}");
    }
    assert_eq!(found.devices[0].dispatcher_gap_count, 39);
    let sum = &found.time_sums[0];
    assert!(sum.contains("39 gaps in which the chip waited for its dispatcher"), "{sum}");
}

/// The host calls an op every 17 us, as the chip starts them: each starts as soon after its call as the first one.
#[test]
fn gaps_of_a_host_that_is_not_ahead_stay_the_hosts() {
    let found = explained(17, false);
    assert_eq!(found.devices[0].dispatcher_gap_count, 0);
    assert!(ns_of(&found, TimeClass::HostLate) > 0.0);
    let host = found.findings.iter().find(|of| of.cause == Cause::Host);
    assert!(host.is_some(), "{:#?}", found.findings);
}
