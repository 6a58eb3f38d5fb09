//! What is known to go wrong in device profilers, and why it does not here.

#[cfg(test)]
mod tests {
    use crate::testing::{Rig, rig::C};

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
