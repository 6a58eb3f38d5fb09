//! Constants of streamed lanes.

use crate::source::Source;
use wire::stream::{self, CELL_WORDS, CHUNK_CELLS, Code, Policy, RING_CELLS, words};

fn word(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}

/// Returns the constants of cells and of the control vector of a core that streams.
pub(crate) fn constants() -> Source {
    let mut source = Source::new(&["Streamed lanes: see docs/streaming.md."]);
    source.open_namespace("kernel_profiler");
    source.line("namespace detail {");
    source.comment(
        "Indices of words in the control vector. A word that each RISC has is the first of five.",
    );
    source.constants(&[
        ("STREAM_PROGRAM", word(words::PROGRAM)),
        ("STREAM_TRACE_COUNT", word(words::TRACE_COUNT)),
        ("STREAM_IDLE_LAUNCHES", word(words::IDLE_LAUNCHES)),
        ("STREAM_POLICY", word(words::POLICY)),
        ("STREAM_TOLD", word(words::TOLD)),
        ("STREAM_SKIPPED", word(words::SKIPPED)),
        ("STREAM_WAITED_IN_VAIN", word(words::WAITED_IN_VAIN)),
        ("STREAM_WRITTEN", word(words::WRITTEN)),
        ("STREAM_LAUNCHES", word(words::LAUNCHES)),
        ("STREAM_READ", word(words::READ)),
    ]);
    source.masks(&[
        ("STREAM_TOLD_ENDED", words::TOLD_ENDED),
        ("STREAM_SIGNATURE_VALUE", words::SIGNATURE_VALUE),
    ]);
    source.comment("Size of a cell in bytes; sizes of a ring and of a chunk in cells.");
    source.constants(&[
        ("STREAM_CELL_BYTES", word(4 * CELL_WORDS)),
        ("STREAM_RING_CELLS", word(RING_CELLS)),
        ("STREAM_CHUNK_CELLS", word(CHUNK_CELLS)),
    ]);
    source.comment(
        "First bit of the code in a cell's first word, and longest zone of one cell in cycles.",
    );
    source.constants(&[
        ("STREAM_CODE_SHIFT", stream::CODE_SHIFT),
        ("STREAM_ZONE_CYCLES_MAX", stream::ZONE_CYCLES_MAX),
    ]);
    source.masks(&[("STREAM_FIRST_ESCAPE", stream::FIRST_ESCAPE.into())]);
    source.comment("Codes of cells that are not zones; other codes are zone ids.");
    let codes = [
        ("LONG_ZONE", Code::LONG_ZONE),
        ("DATA", Code::DATA),
        ("DATA_16B", Code::DATA_16B),
        ("EVENT", Code::EVENT),
        ("TOTAL", Code::TOTAL),
        ("LAUNCH", Code::LAUNCH),
        ("LOST", Code::LOST),
        ("SKIPPED", Code::SKIPPED),
        ("PADDING", Code::PADDING),
    ];
    source.line("enum class StreamCode : uint32_t {");
    for (name, code) in codes {
        source.line(&format!("    {name} = {:#X},", code.0));
    }
    source.line("};");
    source.comment(
        "Number of low bits in the policy word that hold the kind of policy, and these kinds.",
    );
    source.constants(&[("STREAM_POLICY_KIND_BITS", Policy::KIND_BITS)]);
    source.enumeration(
        "enum class StreamPolicy : uint32_t",
        &[
            ("DROP_NEWEST", Policy::DropNewest.to_word()),
            ("OVERWRITE_OLDEST", Policy::OverwriteOldest.to_word()),
            ("BLOCK", Policy::Block { cycles_log2: 0 }.to_word()),
            ("KEEP_ONE_OF", Policy::KeepOneOf { chunks_log2: 0 }.to_word()),
        ],
    );
    source.close_namespace("detail");
    source.close_namespace("kernel_profiler");
    source
}
