//! What is known to go wrong in device profilers, and why it does not here.
//!
//! The numbers are those of a review of upstream's DRAM producer. Where a sentence stands
//! instead of a test, the thing cannot occur by construction or is not this crate's to do.
//!
//! | | hazard | here |
//! |---|---|---|
//! | H1 | a clock read high word first is 2^32 too early at a wrap | low first, live high second: at worst 2^32 too late, which the host sees as a step within the lane and repairs |
//! | H2 | stamps wrap after 2^44 cycles | the format's; the host unwraps. Sums are 64-bit differences and stop at their maximum |
//! | H3 | 16-bit ids collide | the format's; ids that look like padding or are reserved do not compile, the host reports collisions |
//! | H4 | a subordinate publishes after the push | tested: pushed by the next launch, under its own program id. A RISC that publishes only after that launch has begun is pushed at its end; should it run again in it, that launch is lost on it, and counted with its next run |
//! | H5 | stale markers are sent again | tested |
//! | H6 | silent loss | tested: each record that finds no room is counted |
//! | H7 | the end of an open zone lies beyond the vector | tested: the end's words are taken at the open |
//! | H8 | a debug word lies behind the control vector | no such word is used; indices are asserted in `wire` |
//! | H9 | a quick push leaves no room for the end of the launch | tested |
//! | H10 | records are dropped although a push would make room | tested: pushed by the record's true size |
//! | H11 | the cost of a push is charged to the user's zone | tested: its zone ends after the transfer, at the start of the new run |
//! | H12 | the push races a read after "done" | `PROFILER_DONE` is the last word written, after DRAM's acknowledgement; a host that reads earlier sees the lane's old end and loses nothing |
//! | H13 | the end index is ahead of the data | tested; without a DRAM address it does not move |
//! | H14 | five RISCs share the status word of trace-only mode | the status only moves forward, see [`crate::trace`] |
//! | H15 | sums wrap, and a second name takes over the cycles | tested. A sum still has no place in time: it is a total |
//! | H16 | metadata of large transfers saturates | data words are the caller's; none are made here |
//! | H17 | flat ids of more than 8 bits are cut | tested: such a core has no lane, and counts what it loses |
//! | H18 | signed characters in the hash | bytes are unsigned in Rust |
//! | H19 | the firmware's text is nearly full | the size stands in the [crate documentation](crate#cost); what is not called is not linked |
//! | H20 | `fence` does nothing on a Wormhole | none is needed: data is stored before the word that publishes it, and the port reads the last word back before it starts a push |

#[cfg(test)]
mod tests {
    use crate::testing::{
        Kept, Rig, Run,
        rig::{C, TestRisc},
    };
    use std::{boxed::Box, vec, vec::Vec};
    use wire::loss::{LossCounts, LossExtent};

    const NOTHING_LOST: [u32; 4] = [0; 4];

    fn lost_zones(zones: u32) -> LossCounts {
        LossCounts { zones, ..LossCounts::default() }
    }

    #[test]
    fn h04_late_publication_is_pushed_by_the_next_launch() {
        let mut rig = Rig::new(12_000);
        rig.begin(1);
        rig.riscs[1].open_scope(crate::launch::Scope::Main);
        rig.riscs[1].zone(5);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        assert!(rig.runs(1).is_empty());
        rig.riscs[1].close_scope(crate::launch::Scope::Main);
        rig.launch_brisc(2, |_| {});
        let runs = rig.runs(1);
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].program_id, 1);
        assert!(runs[0].fixed[1].is_some(), "the late end is there");
        assert_eq!(runs[0].kept().zones, 1);
    }

    #[test]
    fn h04_a_launch_that_finds_an_earlier_run_in_its_vector_is_counted() {
        let mut rig = Rig::new(12_000);
        rig.begin(1);
        rig.riscs[1].open_scope(crate::launch::Scope::Main);
        rig.riscs[1].zone(5);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        rig.begin(2);
        rig.riscs[1].close_scope(crate::launch::Scope::Main);
        rig.riscs[1].open_scope(crate::launch::Scope::Main);
        rig.riscs[1].close_scope(crate::launch::Scope::Main);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        rig.launch(3, &mut [(1, Box::new(|risc| risc.zone(6)))]);
        let runs = rig.runs(1);
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].program_id, runs[0].kept().zones), (1, 1));
        assert_eq!(runs[0].lost(), NOTHING_LOST);
        assert_eq!((runs[1].program_id, runs[1].kept().zones), (3, 1));
        assert_eq!(runs[1].lost(), [1, 0, 0, 0], "FW of the second launch");
    }

    #[test]
    fn h05_a_run_that_is_pushed_while_its_risc_works_on_is_not_pushed_again() {
        let mut rig = Rig::new(12_000);
        rig.begin(1);
        rig.riscs[1].open_scope(crate::launch::Scope::Main);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        rig.begin(2);
        rig.riscs[1].close_scope(crate::launch::Scope::Main);
        rig.riscs[1].open_scope(crate::launch::Scope::Main);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        rig.riscs[1].close_scope(crate::launch::Scope::Main);
        rig.launch(3, &mut [(1, Box::new(|_| {}))]);
        let programs: Vec<_> = rig.runs(1).iter().map(|run| run.program_id).collect();
        assert_eq!(programs, [1, 3]);
        assert_eq!(rig.runs(1)[1].lost(), [1, 0, 0, 0], "FW of the second launch");
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
            risc.state.add_to_sum(0, wire::ZoneId(9), 100);
        };
        rig.launch(1, &mut [(0, Box::new(body)), (4, Box::new(body))]);
        for risc_index in [0, 4] {
            let runs = rig.runs(risc_index);
            assert_eq!(runs.len(), 1);
            assert_eq!(runs[0].kept(), Kept { zones: 125, ends: 125, ..Kept::default() });
            assert_eq!(runs[0].trailer, [(1, 25), (2, 2), (3, 1), (4, 1)]);
        }
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
        assert_eq!(run.lost(), NOTHING_LOST);
        rig.launch_brisc(2, |risc| {
            (0..125).for_each(|_| assert!(risc.open(1)));
            assert!(!risc.open(1));
            (0..125).for_each(|_| risc.close(1));
        });
        assert_eq!(rig.runs(0)[1].kept().ends, 125);
        assert_eq!(rig.runs(0)[1].lost(), [1, 0, 0, 0]);
    }

    /// One event makes the number of words odd in units of zones: upstream's rule then lets
    /// the last end run into the next RISC's vector.
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
        assert_eq!(run.lost(), [76, 0, 2, 0]);
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
        assert_eq!(runs[1].lost(), [78, 0, 0, 0]);
    }

    /// The lane has room for the first push and 28 words: the end of the launch goes in.
    #[test]
    fn h09_a_quick_push_leaves_room_for_the_end_of_the_launch() {
        for lane_words in [12 + 8, 16 + 12, 16 + 24, 16 + 28, 16 + 32, 512] {
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
            let of_kernel = |run: &Run| run.kept().zones - run.push_zones();
            let zones = runs.iter().map(|run| of_kernel(run) + run.lost()[0]);
            assert_eq!(zones.sum::<u32>(), 201, "{lane_words} words");
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
        assert!(runs.iter().all(|run| run.lost() == NOTHING_LOST));
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

    /// The port of these tests refuses an end index that is ahead of its data, in any test.
    #[test]
    fn h13_without_a_dram_address_nothing_is_pushed_and_all_is_counted() {
        let mut rig = Rig::new(12_000);
        rig.set_control(C.dram_address, 0);
        rig.launch_brisc(1, |risc| (0..10).for_each(|_| risc.zone(1)));
        assert!(rig.core.borrow().pushes.is_empty());
        assert_eq!(rig.control(C.host_end), 0);
        assert_eq!(rig.loss_log(0), [LossExtent::of_launch(1, lost_zones(12))]);
    }

    #[test]
    fn h15_a_sum_stops_at_its_maximum_and_a_second_name_is_counted() {
        let mut rig = Rig::new(12_000);
        rig.riscs[0].port.sums = true;
        rig.launch_brisc(1, |risc| {
            let sum = |risc: &mut TestRisc, id, cycles| {
                risc.state.add_to_sum(0, wire::ZoneId(id), cycles);
            };
            sum(risc, 1, 1 << 40);
            sum(risc, 1, 1);
            sum(risc, 2, 5);
            sum(risc, 2, 5);
        });
        let run = &rig.runs(0)[0];
        assert_eq!(run.records, [(2, 1, u64::from(u32::MAX))]);
        assert_eq!(run.trailer, [(4, 1)]);
    }

    #[test]
    fn h17_a_core_beyond_eight_bits_counts_instead_of_posing_as_another() {
        let mut rig = Rig::new(12_000);
        rig.set_control(C.flat_id, 256 + 7);
        rig.launch_brisc(1, |risc| risc.zone(1));
        assert!(rig.core.borrow().pushes.is_empty());
        assert_eq!(rig.loss_log(0)[0].counts, lost_zones(3));
    }

    #[test]
    fn a_full_lane_takes_less_and_less_and_counts_the_rest() {
        // Room for one whole run of 12 + 40 words, then for 12 + 4, then for nothing.
        let mut rig = Rig::new(52 + 16 + 8);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        for program in [10, 15, 20, 25] {
            rig.launch_brisc(program, body);
        }
        let runs = rig.runs(0);
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].kept().zones, runs[0].lost()), (10, NOTHING_LOST));
        assert_eq!((runs[1].kept().zones, &runs[1].trailer), (0, &vec![(5, 10)]));
        let extent = LossExtent::of_launch(20, lost_zones(12)).extended(25, lost_zones(12));
        assert_eq!(rig.loss_log(0), [extent.unwrap()]);
        assert_eq!(rig.control(C.dropped_zones), 1);
        assert_eq!(rig.control(29), 2);
    }

    #[test]
    fn a_full_loss_log_gathers_the_rest_in_its_last_extent() {
        let mut rig = Rig::new(12);
        for program in 0..100_u32 {
            let zones = program as usize % 7 + program as usize;
            rig.launch_brisc(program * program, move |risc| (0..zones).for_each(|_| risc.zone(1)));
        }
        let log = rig.loss_log(0);
        assert_eq!(log.len(), 62);
        assert!(log[..61].iter().all(|extent| !extent.is_remainder) && log[61].is_remainder);
        let total: u32 = log
            .iter()
            .map(|e| if e.is_remainder { e.counts.zones } else { e.counts.zones * e.launches })
            .sum();
        let launches: u32 = log.iter().map(|e| e.launches).sum();
        // The first launch, without optional zones, still fitted.
        assert_eq!(launches, 99);
        assert_eq!(total, (1..100).map(|n| n % 7 + n + 2).sum::<u32>());
    }

    #[test]
    fn a_lane_is_rewound_once_the_host_has_read_all_of_it() {
        let mut rig = Rig::new(52 + 20);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        (0..4).for_each(|program| rig.launch_brisc(program, body));
        assert_eq!(rig.runs(0).len(), 2, "the second one's fixed markers alone");
        assert_eq!(rig.control(29), 2);
        rig.set_control(8, rig.control(C.host_end));
        rig.launch_brisc(4, body);
        assert_eq!(rig.control(29), 3, "the host has not read the loss log");
        rig.acknowledge();
        rig.launch_brisc(5, body);
        assert_eq!(rig.runs(0).len(), 1);
        assert_eq!(rig.runs(0)[0].program_id, 5);
        assert_eq!(rig.control(C.dropped_zones), 0);
        assert_eq!(
            (rig.control(8), rig.control(13), rig.control(29), rig.control(34)),
            (0, 0, 0, 0)
        );
    }

    #[test]
    fn a_host_that_zeroes_the_control_vector_gets_a_fresh_start() {
        let mut rig = Rig::new(52 + 16);
        let body = |risc: &mut TestRisc| (0..10).for_each(|_| risc.zone(1));
        (0..4).for_each(|program| rig.launch_brisc(program, body));
        for word in (0..64).filter(|word| ![6, C.dram_address, 54, 55].contains(word)) {
            rig.set_control(word, 0);
        }
        rig.launch_brisc(4, body);
        assert_eq!((rig.runs(0).len(), rig.runs(0)[0].program_id), (1, 4));
        assert_eq!((rig.control(C.run_counter), rig.control(5)), (1, 0x4B50_2000));
    }

    #[test]
    fn a_discarded_launch_leaves_nothing_but_its_count() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |_| {});
        for _ in 0..3 {
            rig.begin(2);
            crate::state::State::validate(&mut rig.riscs[0].port, false);
            rig.riscs[0].close_scope(crate::launch::Scope::Main);
        }
        assert_eq!((rig.runs(0).len(), rig.control(39)), (1, 3));
        rig.acknowledge();
        rig.launch_brisc(3, |_| {});
        assert_eq!((rig.control(39), rig.control(18)), (3, 3));
    }

    #[test]
    fn a_linked_noc_keeps_the_run_for_the_next_launch() {
        let mut rig = Rig::new(12_000);
        rig.launch_brisc(1, |risc| risc.zone(1));
        rig.begin(2);
        rig.riscs[0].zone(2);
        rig.set_linked(true);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        assert_eq!((rig.runs(0).len(), rig.control(C.profiler_done)), (1, 0));
        rig.set_linked(false);
        rig.launch_brisc(3, |risc| risc.zone(3));
        let programs: Vec<_> = rig.runs(0).iter().map(|run| run.program_id).collect();
        assert_eq!(programs, [1, 2, 3]);
        assert_eq!(rig.runs(0)[1].kept().zones, 1);
    }

    #[test]
    fn a_noc_that_stays_linked_costs_the_launches_that_follow_but_not_their_count() {
        let mut rig = Rig::new(12_000);
        rig.set_linked(true);
        rig.launch_brisc(1, |risc| (0..7).for_each(|_| risc.zone(1)));
        rig.launch_brisc(2, |risc| (0..130).for_each(|_| risc.zone(1)));
        rig.begin(3);
        rig.set_linked(false);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        rig.launch_brisc(4, |_| {});
        let runs = rig.runs(0);
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].program_id, runs[0].flat_id, runs[0].kept().zones), (1, 7, 7));
        assert_eq!((runs[1].program_id, runs[1].lost()[0]), (4, (130 + 2) + 1));
    }

    #[test]
    fn probes_outside_a_launch_are_counted_with_the_next_one() {
        let mut rig = Rig::new(12_000);
        rig.riscs[0].zone(1);
        rig.launch_brisc(1, |_| {});
        rig.riscs[0].event(1);
        rig.riscs[0].quick_push();
        rig.launch_brisc(2, |_| {});
        let lost: Vec<_> = rig.runs(0).iter().map(crate::testing::Run::lost).collect();
        assert_eq!(lost, [[1, 0, 0, 0], [0, 0, 1, 0]]);
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
        assert_eq!(rig.runs(0)[0].lost(), [1, 1, 0, 0]);
        rig.riscs[0].state = crate::state::State::new();
        rig.launch_brisc(2, |risc| (0..1000).for_each(|_| risc.zone(1)));
        let runs = &rig.runs(0)[1..];
        assert_eq!(runs.len(), 9);
        assert_eq!(runs.iter().map(|run| run.kept().zones).sum::<u32>(), 1000 + 8);
    }

    #[test]
    fn a_trace_replay_leaves_one_envelope_of_the_whole_core() {
        use crate::launch::Scope::{Main, MainChild};
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
            assert!(run.records.is_empty() && run.trailer.is_empty());
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
        assert_eq!(rig.control(5), 0x4B50_2000);
        assert_eq!(rig.vector(0, 2), 7 << 5);
        assert_eq!(rig.control(24), 0, "the end index is taken back");
    }

    /// FW 4/5..6/7, KERNEL 8/9..10/11, then A { B { D } }, at the times of the example.
    #[test]
    fn the_worked_example_lies_in_memory_word_by_word() {
        let mut rig = Rig::new(12_000);
        let at = |rig: &Rig, low: u64| rig.core.borrow_mut().clock = 0x1_0000_0000 + low - 1;
        let (a, b, d) = (0xB765, 0x9272, 0x988E);
        at(&rig, 0x1000);
        rig.begin(0x400);
        at(&rig, 0x1100);
        rig.riscs[0].open_scope(crate::launch::Scope::MainChild);
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
        rig.riscs[0].close_scope(crate::launch::Scope::MainChild);
        at(&rig, 0x1700);
        rig.riscs[0].close_scope(crate::launch::Scope::Main);
        let expected = [
            0x0000_0000,
            0x0000_0000,
            0x0000_00E0,
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
