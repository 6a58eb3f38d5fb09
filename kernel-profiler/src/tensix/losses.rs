//! Counters of losses, as functions that a probe calls without saving registers.

use super::symbols;
use crate::state::offset;
use core::arch::naked_asm;
use wire::loss::LossKind;

/// Defines functions that count one loss of a kind: they add one to this RISC's counter of the kind,
/// return to `t0`, and change only `t1` and `t2`.
macro_rules! loss_counters {
    ($($function:ident $kind:ident)*) => {
        $(
            #[unsafe(naked)]
            pub(super) extern "C" fn $function() {
                naked_asm!(
                    "lui t1, %hi({own} + {block})",
                    "lw t2, %lo({own} + {block})(t1)",
                    "addi t2, t2, 1",
                    "sw t2, %lo({own} + {block})(t1)",
                    "jr t0",
                    own = sym symbols::__kprof_own,
                    block = const offset(LossKind::$kind.control_word()),
                )
            }
        )*
    };
}

loss_counters! {
    lose_zone Zone
    lose_data Data
    lose_event Event
}
