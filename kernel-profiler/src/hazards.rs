//! Known hazards of device profilers, and why they do not occur here.
//!
//! The numbers come from a review of the DRAM producer in TT-Metal's profiler. If a row does not
//! say "tested", the hazard is impossible by construction or outside of this crate.
//!
//! | | hazard | here |
//! |---|---|---|
//! | H1 | a time whose high word is read first is 2^32 cycles too early at a wrap | the low word is read first, then the high word: if the low word wraps in between, the time is 2^32 cycles too late. The host finds the jump in the lane's times and corrects the time |
//! | H2 | stamps wrap after 2^44 cycles | a property of the format; the host unwraps. A sum counts modulo 2^32 cycles, about 3 seconds |
//! | H3 | 16-bit ids collide | a property of the format; ids that look like padding or are reserved do not compile, the host reports collisions |
//! | H4 | a subordinate publishes after the push | tested: the RISC that pushes waits, up to a limit, for the RISCs that run a kernel, and counts a late run; a late run is never pushed under another program's id |
//! | H5 | stale markers are sent again | tested |
//! | H6 | silent loss | tested: each record for which there is no room is counted |
//! | H7 | the end of an open zone is written beyond the vector | tested: room for the end is reserved at the open |
//! | H8 | a debug word follows the control vector | no such word is used; indices are asserted in `wire` |
//! | H9 | a quick push leaves no room for the end of the launch | tested |
//! | H10 | records are dropped although a push would make room | tested: the record's true size decides whether to push |
//! | H11 | the cost of a push is charged to the user's zone | tested: the push's zone ends after the transfer, at the start of the new run |
//! | H12 | the push races a read after "done" | `PROFILER_DONE` is the last word written, after DRAM's acknowledgement; a host that reads earlier sees the lane's old end and loses nothing |
//! | H13 | the end index is ahead of the data | tested; without a DRAM address the index does not move |
//! | H14 | five RISCs share the status word of trace-only mode | the status only moves forward, see [`crate::trace`] |
//! | H15 | sums wrap, and if two zones share an accumulator, their cycles are added up under one name | a property of the format: a total has 32 bits and the name of the zone that closed last. Room for the total is reserved, so the total is never lost |
//! | H16 | metadata of large transfers saturates | data words come from the caller; the runtime computes none |
//! | H17 | flat ids of more than 8 bits are truncated | tested: such a core has no lane, and counts what it loses |
//! | H18 | signed characters in the hash | bytes are unsigned in Rust |
//! | H19 | the firmware's text is nearly full | the size is in the [crate documentation](crate#cost); functions that are not called are not linked |
//! | H20 | `fence` does nothing on a Wormhole | no fence is needed: data is stored before the word that publishes it, and the port reads the last word back before it starts a push |

#[cfg(test)]
mod tests {
    use crate::launch::Scope::{Main, MainChild};
    use crate::testing::{
        Kept, Rig,
        rig::{Body, C, TestRisc, Trouble},
    };
    use std::{boxed::Box, vec, vec::Vec};

    const NOTHING_LOST: [u32; 3] = [0; 3];

    /// Runs a launch in which NCRISC's main zone is still open when BRISC closes its own.
    fn late_ncrisc(program: u32) -> Rig {
        let mut rig = Rig::new(12_000);
        rig.enables = 0b11;
        rig.begin(program);
        rig.riscs[1].open_scope(Main);
        rig.riscs[1].zone(5);
        rig.riscs[0].close_scope(Main);
        rig
    }

    #[test]
    fn h04_a_run_that_comes_too_late_is_counted_and_never_pushed() {
        let mut rig = late_ncrisc(1);
        assert!(rig.runs(1).is_empty());
        assert_eq!([44, 45, 46, 47].map(|word| rig.control(word)), [1, 0, 0, 0]);
        rig.riscs[1].close_scope(Main);
        assert_eq!(rig.control(C.device_end + 1), 0, "nothing is published after the push");
        rig.launch(2, &mut [(0, Box::new(|_| {})), (1, Box::new(|risc| risc.zone(6)))]);
        let runs = rig.runs(1);
        assert_eq!((runs.len(), runs[0].program_id, runs[0].kept().zones), (1, 2, 1));
        assert_eq!(rig.control(44), 1);
    }

    #[test]
    fn h04_only_riscs_that_run_a_kernel_are_waited_for() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |_| {});
        rig.launch(2, &mut [(0, Box::new(|_| {})), (3, Box::new(|_| {}))]);
        assert_eq!([44, 45, 46, 47].map(|word| rig.control(word)), [0; 4]);
    }

    #[test]
    fn h05_a_risc_that_did_not_run_is_not_pushed_again() {
        let mut rig = Rig::new(12_000);
        rig.launch(1, &mut [(0, Box::new(|_| {})), (2, Box::new(|risc| risc.zone(5)))]);
        rig.launch_brisc(2, |_| {});
        rig.launch_brisc(3, |_| {});
        assert_eq!(rig.runs(2).len(), 1);
        assert_eq!(rig.runs(0).len(), 3);
    }

    #[test]
    fn h06_every_record_that_finds_no_room_is_counted_by_kind() {
        let mut rig = Rig::new(12_000);
        for risc in &mut rig.riscs {
            risc.port.sums = true;
        }
        let body = |risc: &mut TestRisc| {
            for i in 0..150 {
                risc.zone(i + 1);
            }
            risc.data(7, 1);
            risc.data(7, 2);
            risc.event(3);
            risc.sum(0, 9, 100);
        };
        rig.launch(1, &mut [(0, Box::new(body)), (4, Box::new(body))]);
        for risc_index in [0, 4] {
            let runs = rig.runs(risc_index);
            assert_eq!(runs.len(), 1);
            // Four words are reserved for the totals.
            let kept = Kept { zones: 124, ends: 124, sums: 1, ..Kept::default() };
            assert_eq!(runs[0].kept(), kept);
            assert_eq!(rig.lost(risc_index), [26, 2, 1]);
        }
        assert_eq!(rig.lost(1), NOTHING_LOST);
        rig.launch(2, &mut [(4, Box::new(body))]);
        assert_eq!(rig.lost(4), [52, 4, 2], "the counters go on");
    }

    #[test]
    fn exactly_125_zones_or_50_mixed_rounds_fit() {
        let mut rig = Rig::new(12_000);
        let rounds = |risc: &mut TestRisc| {
            for _ in 0..50 {
                assert!(risc.open(1));
                risc.data(2, 3);
                risc.event(4);
                risc.close(1);
            }
        };
        rig.launch_brisc(1, rounds);
        let run = &rig.runs(0)[0];
        assert_eq!(run.kept(), Kept { zones: 50, ends: 50, data: 50, events: 50, sums: 0 });
        assert_eq!(rig.lost(0), NOTHING_LOST);
        rig.launch_brisc(2, |risc| {
            (0..125).for_each(|_| assert!(risc.open(1)));
            assert!(!risc.open(1));
            (0..125).for_each(|_| risc.close(1));
        });
        assert_eq!(rig.runs(0)[1].kept().ends, 125);
        assert_eq!(rig.lost(0), [1, 0, 0]);
    }

    /// An event and 124 zones leave two free words in the vector: room for a zone's start, but not
    /// for its end.
    ///
    /// TT-Metal's check for room accepts the start. The end marker that is written last would then
    /// be in the next RISC's vector.
    #[test]
    fn h07_end_of_open_zone_never_overflows() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |risc| {
            risc.event(1);
            let open = (0..200).filter(|_| risc.open(5)).count();
            (0..3).for_each(|_| risc.event(1));
            (0..open).for_each(|_| risc.close(5));
        });
        let run = &rig.runs(0)[0];
        let kept = run.kept();
        assert_eq!((kept.zones, kept.ends), (124, 124));
        assert_eq!(rig.lost(0), [76, 0, 2]);
    }

    #[test]
    fn h07_a_quick_push_within_open_zones_keeps_their_ends() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |risc| {
            assert!(risc.open(1) && risc.open(2) && risc.open(3));
            risc.quick_push();
            let more = (0..200).filter(|_| risc.open(5)).count();
            (0..more + 3).for_each(|_| risc.close(5));
        });
        let runs = rig.runs(0);
        assert_eq!(runs[0].kept(), Kept { zones: 3, ..Kept::default() });
        // The push's own zone takes four words, the three ends six.
        assert_eq!(runs[1].kept().zones, 1 + 122);
        assert_eq!(runs[1].kept().ends, 1 + 122 + 3);
        assert_eq!(rig.lost(0), [78, 0, 0]);
    }

    /// A lane with room for the first push has room for the end of the launch, too.
    #[test]
    fn h09_a_quick_push_leaves_room_for_the_end_of_the_launch() {
        for lane_words in [12, 12 + 8, 16 + 12, 16 + 24, 16 + 28, 16 + 32, 512] {
            let mut rig = Rig::new(lane_words);
            rig.launch_brisc(1, |risc| {
                risc.zone(1);
                risc.quick_push();
                (0..200).for_each(|_| risc.zone(2));
                risc.quick_push();
            });
            let runs = rig.runs(0);
            let last = runs.last().unwrap();
            assert!(last.fixed.iter().all(Option::is_some), "{lane_words} words");
            // The lane holds the fixed slots, two markers of each zone that fitted into L1, and two
            // markers of each push's own zone.
            let run_count = u32::try_from(runs.len()).unwrap();
            let recorded = 4 * run_count + 2 * (201 - rig.lost(0)[0]) + 2 * (run_count - 1);
            let stored: u32 = runs.iter().map(|run| run.slots).sum();
            assert_eq!(stored + rig.refused(0)[1], recorded, "{lane_words} words");
        }
    }

    #[test]
    fn h10_no_event_is_lost_while_pushes_make_room() {
        let mut rig = Rig::new(40_000);
        rig.launch_brisc(1, |risc| {
            assert!(risc.open(1));
            for i in 0..5_000 {
                risc.state.flush_to_dram_if_full(&mut risc.port, 4);
                risc.data(2, i);
            }
            risc.close(1);
        });
        let runs = rig.runs(0);
        assert_eq!(runs.iter().map(|run| run.kept().data).sum::<u32>(), 5_000);
        assert_eq!(rig.lost(0), NOTHING_LOST);
    }

    #[test]
    fn h11_the_zone_of_a_quick_push_contains_the_transfer() {
        let mut rig = Rig::new(12_000);
        rig.core.borrow_mut().push_cycles = 5_000;
        rig.launch_brisc(1, |risc| {
            risc.zone(1);
            risc.quick_push();
            risc.zone(2);
        });
        let records = &rig.runs(0)[1].records;
        let id = crate::names::zone_id(crate::names::QUICK_PUSH);
        let [(0, start_id, start), (1, end_id, end), ..] = records[..] else {
            panic!("the push's zone comes first: {records:?}")
        };
        assert_eq!((start_id, end_id), (id, id));
        assert!(end - start > 5_000);
        assert!(rig.runs(0)[0].records.iter().all(|(.., time)| *time < start));
    }

    /// In every test, the test port rejects an end index that is ahead of its data.
    #[test]
    fn h13_without_a_dram_address_nothing_is_pushed_and_all_is_counted() {
        let mut rig = Rig::new(12_000);
        rig.set_control(C.dram_address, 0);
        rig.launch_brisc(1, |risc| (0..10).for_each(|_| risc.zone(1)));
        assert!(rig.core.borrow().pushes.is_empty());
        assert_eq!((rig.control(C.host_end), rig.control(C.run_counter)), (0, 1));
        assert_eq!(rig.refused(0), [1, 4 + 20]);
    }

    #[test]
    fn h15_a_sum_has_the_last_name_and_counts_modulo_its_32_bits() {
        let mut rig = Rig::new(12_000);
        rig.riscs[0].port.sums = true;
        rig.launch_brisc(1, |risc| {
            risc.sum(0, 1, u32::MAX);
            risc.sum(0, 2, 5);
            risc.sum(1, 3, 7);
        });
        assert_eq!(rig.runs(0)[0].records, [(2, 2, 4), (2, 3, 7)]);
        rig.launch_brisc(2, |_| {});
        assert!(rig.runs(0)[1].records.is_empty(), "a launch begins without sums");
    }

    #[test]
    fn h17_a_core_beyond_eight_bits_counts_instead_of_posing_as_another() {
        let mut rig = Rig::new(12_000);
        rig.set_control(C.flat_id, 256 + 7);
        rig.launch_brisc(1, |risc| risc.zone(1));
        assert!(rig.core.borrow().pushes.is_empty());
        assert_eq!(rig.refused(0), [1, 4 + 2]);
    }

    #[test]
    fn a_full_lane_takes_less_and_less_and_counts_the_rest() {
        // The lane has room for one whole run of 12 + 40 words, then for 12, then for nothing.
        let mut rig = Rig::new(52 + 16);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        for program in [10, 15, 20, 25] {
            rig.launch_brisc(program, body);
        }
        let runs = rig.runs(0);
        let kept: Vec<_> = runs.iter().map(|run| (run.program_id, run.kept().zones)).collect();
        assert_eq!(kept, [(10, 10), (15, 0)]);
        assert_eq!(rig.refused(0), [3, 20 + 2 * 24]);
        assert_eq!((rig.control(19), rig.control(20)), (15, 25));
        assert_eq!((rig.control(C.dropped_zones), rig.control(C.run_counter)), (1, 4));
        assert_eq!(rig.lost(0), NOTHING_LOST, "L1 had room");
    }

    #[test]
    fn padding_is_not_counted_as_refused() {
        let mut rig = Rig::new(12);
        rig.launch_brisc(1, |risc| risc.event(1));
        assert_eq!(rig.refused(0), [1, 1]);
        rig.launch_brisc(2, |risc| risc.event(1));
        assert_eq!(rig.refused(0), [2, 1 + 5]);
    }

    #[test]
    fn lanes_are_taken_back_all_at_once_when_the_host_has_read_everything() {
        let mut rig = Rig::new(52 + 16);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        let launch = |rig: &mut Rig, program| {
            rig.launch(program, &mut [(0, Box::new(body)), (2, Box::new(body))]);
        };
        (0..4).for_each(|program| launch(&mut rig, program));
        assert_eq!((rig.runs(0).len(), rig.runs(2).len()), (2, 2));
        rig.set_control(8, rig.control(C.run_counter) - 1);
        launch(&mut rig, 4);
        assert_eq!(rig.refused(2)[0], 4, "the host has not read the last run");
        rig.acknowledge();
        launch(&mut rig, 5);
        for risc in [0, 2] {
            let runs = rig.runs(risc);
            assert_eq!((runs.len(), runs[0].program_id, runs[0].generation), (1, 5, 2));
        }
        assert_eq!((rig.control(7), rig.control(C.dropped_zones)), (2, 0));
        assert_eq!((rig.control(19), rig.control(20)), (0, 0));
        assert_eq!(rig.refused(0)[0], 4, "counters go on");
        launch(&mut rig, 6);
        assert_eq!((rig.control(19), rig.control(20)), (6, 6));
    }

    #[test]
    fn a_host_of_upstreams_never_gives_lanes_back() {
        let mut rig = Rig::new(52 + 16);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        (0..4).for_each(|program| rig.launch_brisc(program, body));
        assert_eq!((rig.runs(0).len(), rig.control(7)), (2, 1));
        for word in (0..64).filter(|word| ![6, C.dram_address, 54, 55].contains(word)) {
            rig.set_control(word, 0);
        }
        rig.launch_brisc(4, body);
        assert_eq!((rig.runs(0).len(), rig.runs(0)[0].program_id), (1, 4));
        assert_eq!((rig.control(C.run_counter), rig.control(5)), (1, 0x4B50_4000));
    }

    #[test]
    fn a_launch_without_kernels_leaves_nothing_but_its_count() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |_| {});
        for _ in 0..3 {
            rig.enables = 0;
            rig.begin(2);
            rig.riscs[0].close_scope(Main);
        }
        assert_eq!((rig.runs(0).len(), rig.control(22)), (1, 3));
        assert_eq!(rig.control(C.run_counter), 1);
    }

    #[test]
    fn a_stuck_noc_costs_the_run_but_not_its_count() {
        for trouble in [Trouble::Busy, Trouble::BusyAfter(0), Trouble::Silent] {
            let mut rig = Rig::new(52 + 16);
            let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
            rig.core.borrow_mut().trouble = trouble;
            rig.launch(7, &mut [(0, Box::new(body)), (1, Box::new(|_| {}))]);
            assert!(rig.runs(0).is_empty() && rig.runs(1).is_empty());
            assert_eq!((rig.refused(0), rig.refused(1)), ([1, 24], [1, 4]));
            assert_eq!((rig.control(21), rig.control(C.run_counter)), (1, 1));
            rig.core.borrow_mut().trouble = Trouble::Nothing;
            rig.launch_brisc(8, body);
            assert_eq!(rig.runs(0).len(), 1);
            // A run that would have been stored in part is counted once, with all of its markers.
            rig.core.borrow_mut().trouble = trouble;
            rig.launch_brisc(9, body);
            assert_eq!(rig.refused(0), [2, 48]);
            assert_eq!((rig.control(19), rig.control(20), rig.control(21)), (7, 9, 2));
            assert_eq!(rig.core.borrow().waits_in_vain, 2, "one for each time-out");
        }
    }

    #[test]
    fn a_noc_that_gets_stuck_between_pushes_is_waited_for_once() {
        for pushes in 1..5 {
            let mut rig = Rig::new(12_000);
            rig.core.borrow_mut().trouble = Trouble::BusyAfter(pushes);
            let body = || -> Body { Box::new(|risc| risc.zone(1)) };
            rig.launch(7, &mut core::array::from_fn::<_, 5, _>(|risc| (risc, body())));
            assert_eq!((rig.control(21), rig.core.borrow().waits_in_vain), (1, 1));
            for risc in 0..5 {
                assert_eq!((rig.control(C.host_end + risc), rig.refused(risc)), (0, [1, 4 + 2]));
            }
        }
    }

    /// On every test core, each RISC has a data cache that never evicts a line.
    #[test]
    fn what_others_write_is_seen_behind_a_data_cache() {
        let mut rig = Rig::new(12_000);
        rig.enables = 0b11;
        rig.begin(1);
        // This kernel reads the control vector itself.
        for word in 0..64 {
            let _ = crate::port::Memory::control(&mut rig.riscs[0].port, word);
            let _ = crate::port::Memory::control(&mut rig.riscs[1].port, word);
        }
        rig.riscs[1].open_scope(Main);
        rig.riscs[1].zone(5);
        rig.riscs[1].close_scope(Main);
        rig.riscs[0].close_scope(Main);
        assert_eq!((rig.runs(1).len(), rig.control(44)), (1, 0));
    }

    #[test]
    fn a_quick_push_that_gets_stuck_loses_nothing() {
        for trouble in [Trouble::Busy, Trouble::BusyAfter(0), Trouble::Silent] {
            let mut rig = Rig::new(12_000);
            rig.begin(1);
            rig.riscs[0].open_scope(MainChild);
            rig.riscs[0].event(1);
            rig.core.borrow_mut().trouble = trouble;
            rig.riscs[0].quick_push();
            rig.core.borrow_mut().trouble = Trouble::Nothing;
            rig.riscs[0].event(2);
            rig.riscs[0].close_scope(MainChild);
            rig.riscs[0].close_scope(Main);
            let runs = rig.runs(0);
            assert_eq!((runs.len(), runs[0].kept().events), (1, 2));
            assert_eq!(rig.refused(0), [0, 0]);
        }
    }

    #[test]
    fn quick_pushes_keep_away_from_a_linked_noc() {
        let mut rig = Rig::new(12_000);
        rig.begin(1);
        rig.riscs[0].zone(2);
        rig.set_linked(true);
        rig.riscs[0].quick_push();
        rig.set_linked(false);
        rig.riscs[0].close_scope(Main);
        assert_eq!(rig.runs(0)[0].kept().zones, 1);
    }

    #[test]
    fn probes_before_the_first_launch_are_counted() {
        let mut rig = Rig::new(12_000);
        rig.riscs[0].zone(1);
        rig.riscs[1].data(1, 1);
        rig.riscs[1].event(1);
        rig.riscs[0].quick_push();
        assert_eq!((rig.lost(0), rig.lost(1)), ([1, 0, 0], [0, 1, 1]));
    }

    #[test]
    fn dispatch_kernels_keep_their_headroom_and_push_when_it_is_reached() {
        let mut rig = Rig::new(12_000);
        rig.riscs[0].port.is_dispatch = true;
        rig.launch_brisc(1, |risc| {
            (0..121).for_each(|_| assert!(risc.open(1)));
            assert!(!risc.open(1), "sixteen words are kept");
            (0..4).for_each(|i| risc.data(2, i));
        });
        let kept = rig.runs(0)[0].kept();
        assert_eq!((kept.zones, kept.data), (121, 3));
        assert_eq!(rig.lost(0), [1, 1, 0]);
        rig.riscs[0].state = crate::state::State::new();
        rig.launch_brisc(2, |risc| (0..1000).for_each(|_| risc.zone(1)));
        let runs = &rig.runs(0)[1..];
        assert_eq!(runs.len(), 9);
        assert_eq!(runs.iter().map(|run| run.kept().zones).sum::<u32>(), 1000 + 8);
    }

    #[test]
    fn a_trace_replay_leaves_one_envelope_of_the_whole_core() {
        let mut rig = Rig::new(12_000);
        for risc in &mut rig.riscs {
            risc.port.is_trace_only = true;
            risc.state.init_profiler(&mut risc.port);
        }
        for _replay in 0..3 {
            let brisc = &mut rig.riscs[0];
            brisc.state.init_trace_only(&mut brisc.port);
            for _launch in 0..2 {
                rig.riscs[0].open_scope(Main);
                rig.riscs[3].open_scope(Main);
                rig.riscs[3].open_scope(MainChild);
                rig.riscs[0].open_scope(MainChild);
                rig.riscs[3].zone(1);
                rig.riscs[3].close_scope(MainChild);
                rig.riscs[0].close_scope(MainChild);
                rig.riscs[3].close_scope(Main);
                rig.riscs[0].close_scope(Main);
            }
        }
        let brisc = &mut rig.riscs[0];
        brisc.state.init_trace_only(&mut brisc.port);
        let runs = rig.runs(0);
        let counts: Vec<_> = runs.iter().map(|run| (run.program_id, run.trace_count)).collect();
        assert_eq!(counts, [(1, 0), (2, 0), (3, 0)]);
        for run in &runs {
            let times = run.fixed.map(Option::unwrap);
            assert!(times[0] < times[2] && times[2] < times[3] && times[3] < times[1]);
            assert!(run.records.is_empty());
        }
    }

    #[test]
    fn trace_replays_are_counted_in_the_id_words() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |_| {});
        let brisc = &mut rig.riscs[0];
        brisc.state.increment_trace_count(&mut brisc.port);
        let body = |risc: &mut TestRisc| {
            risc.zone(1);
            risc.quick_push();
        };
        rig.launch(2, &mut [(0, Box::new(body)), (1, Box::new(body))]);
        let counts = |risc| rig.runs(risc).iter().map(|run| run.trace_count).collect::<Vec<_>>();
        assert_eq!((counts(0), counts(1)), (vec![0, 1, 1], vec![1, 1]));
    }

    #[test]
    fn control_words_of_a_fresh_start_name_the_runtime() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |_| {});
        assert_eq!((rig.control(5), rig.control(7)), (0x4B50_4000, 1));
        for (risc, id) in (0..5).zip(1 << 29 | 7 << 5..) {
            assert_eq!(rig.vector(risc, 2), id);
        }
        assert_eq!(rig.control(24), 0, "the end index is taken back");
    }

    /// Records nested zones at fixed times: the firmware's zone, the kernel's zone, A, and in A the
    /// zone B with 64 bits of data. Compares every word of the lane.
    #[test]
    fn the_worked_example_lies_in_memory_word_by_word() {
        let mut rig = Rig::new(12_000);
        let at = |rig: &Rig, low: u64| rig.core.borrow_mut().clock = 0x1_0000_0000 + low - 1;
        let (a, b, d) = (0xB765, 0x9272, 0x988E);
        at(&rig, 0x1000);
        rig.begin(0x400);
        at(&rig, 0x1100);
        rig.riscs[0].open_scope(MainChild);
        at(&rig, 0x1200);
        assert!(rig.riscs[0].open(a));
        at(&rig, 0x1300);
        assert!(rig.riscs[0].open(b));
        at(&rig, 0x1380);
        rig.riscs[0].data(d, 0x1122_3344_5566_7788);
        at(&rig, 0x1400);
        rig.riscs[0].close(b);
        at(&rig, 0x1500);
        rig.riscs[0].close(a);
        at(&rig, 0x1600);
        rig.riscs[0].close_scope(MainChild);
        at(&rig, 0x1700);
        rig.riscs[0].close_scope(Main);
        let expected = [
            0x0000_0000,
            0x0000_0000,
            0x2000_00E0,
            0x0000_0400,
            0x8FC0_D001,
            0x0000_1000,
            0x9FC0_D001,
            0x0000_1700,
            0x8E42_7001,
            0x0000_1100,
            0x9E42_7001,
            0x0000_1600,
            0x8B76_5001,
            0x0000_1200,
            0x8927_2001,
            0x0000_1300,
            0xB988_E001,
            0x0000_1380,
            0x1122_3344,
            0x5566_7788,
            0x9927_2001,
            0x0000_1400,
            0x9B76_5001,
            0x0000_1500,
        ];
        assert_eq!(rig.lane(0), expected);
        assert_eq!(rig.control(C.profiler_done), 1);
        assert_eq!(rig.control(C.run_counter), 1);
        assert_eq!((rig.control(C.noc_x), rig.control(C.noc_y)), (18, 19));
    }
}
