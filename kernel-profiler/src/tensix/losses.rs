//! Functions that increment counters of lost records. A probe calls them without saving registers.

use super::symbols;
use crate::state::offset;
use core::arch::naked_asm;
use wire::loss::LossKind;

/// Defines functions that increment this RISC's counter of lost records of a kind. These functions
/// return to the address in `t0`, and change only `t1` and `t2`.
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
