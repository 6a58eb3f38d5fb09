//! Names of a dispatcher's commands, without the numbers of the dispatched programs.
//!
//! # Compatibility
//! For each value in a dispatcher's zone, `profiler.cpp` of TT-Metal appends a program and a
//! command to the zone's name, so a thousand programs result in thousands of names. TT-Metal's
//! scripts search these names for commands.

/// Returns a command's zone name without the program numbers; `None` if the name contains no
/// program number.
pub(super) fn without_programs(name: &str) -> Option<String> {
    let mut parts = name.split(':');
    let zone = parts.next().filter(|zone| zone.starts_with(DISPATCHER))?;
    let mut text = zone.to_owned();
    let mut last = "";
    while let Some(program) = parts.next() {
        let command = parts
            .next()
            .filter(|_| !program.is_empty() && program.bytes().all(|byte| byte.is_ascii_digit()))?;
        if command != last {
            text.push(':');
            text.push_str(command);
        }
        last = command;
    }
    (!last.is_empty()).then_some(text)
}

const DISPATCHER: &str = "CQ-DISPATCH";

#[cfg(test)]
mod tests {
    use super::without_programs;

    #[test]
    fn programs_are_left_out_and_commands_and_sorts_are_not() {
        for (name, expected) in [
            (
                "CQ-DISPATCH:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET:77:CQ_DISPATCH_CMD_SET_WRITE_OFFSET",
                Some("CQ-DISPATCH:CQ_DISPATCH_CMD_SET_WRITE_OFFSET"),
            ),
            ("CQ-DISPATCH:77:CQ_DISPATCH_CMD_WAIT", Some("CQ-DISPATCH:CQ_DISPATCH_CMD_WAIT")),
            ("CQ-DISPATCH:77:200", Some("CQ-DISPATCH:200")),
            (
                "CQ-DISPATCH:7:WRITE_PACKED:7:MCAST;LAUNCH",
                Some("CQ-DISPATCH:WRITE_PACKED:MCAST;LAUNCH"),
            ),
            ("CQ-DISPATCH-SUBORDINATE:CQ_DISPATCH_CMD_SEND_GO_SIGNAL", None),
            ("CQ-DISPATCH-SUBORDINATE:200", None),
            ("CQ-DISPATCH", None),
            ("CQ-DISPATCH:", None),
            ("CQ-DISPATCH::WAIT", None),
            ("LOAD:77:WAIT", None),
        ] {
            assert_eq!(without_programs(name).as_deref(), expected, "{name}");
        }
    }
}
