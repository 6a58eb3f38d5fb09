// C++ versions of the kernels in sim/src/kernel/body.rs.
//
// By #line, each zone has the line of the same zone in that file, and therefore the same text and
// id. The build generates twin_lines.hpp from body.rs before it compiles this file.

#include "twin_lines.hpp"
#include "kernel_profiler.hpp"

namespace {

/// A kernel's part of the launch message: launch index, two words of seed, argument count,
/// arguments.
class Launch {
public:
    explicit Launch(const volatile uint32_t* message) : message_(message) {}

    uint32_t arg(uint32_t index) const { return index < message_[3] ? message_[4 + index] : 0; }

    /// Waits for at least `cycles` cycles.
    static void spin(uint32_t cycles) {
        const uint32_t start = now();
        while (now() - start < cycles) {
        }
    }

    /// Gives the matrix unit a bank of each source, without which it would wait for ever.
    void give_data() const { issue(0x57u << 24 | 3, 1); }

    /// Issues MVMUL argument 0 times, SFPMAD argument 1 times and NOP argument 2 times.
    void issue_all() const {
        issue(0x26u << 24, arg(0));
        issue(0x84u << 24, arg(1));
        issue(0x02u << 24, arg(2));
    }

private:
    static void issue(uint32_t instruction, uint32_t times) {
        for (; times != 0; --times) {
            *reinterpret_cast<volatile uint32_t*>(0xFFE40000) = instruction;
        }
    }

    static uint32_t now() { return *reinterpret_cast<const volatile uint32_t*>(0xFFB121F0); }

    const volatile uint32_t* message_;
};

}  // namespace

#define KERNEL(name)                                                        \
    extern "C" void name(const volatile uint32_t*, uint32_t);               \
    extern "C" [[gnu::section(".text.kernel." #name)]] void name(           \
        [[maybe_unused]] const volatile uint32_t* message, uint32_t /* risc */)

KERNEL(empty) {}

KERNEL(work) {
    const Launch launch(message);
#line LINE_WORK "sim/src/kernel/body.rs"
    DeviceZoneScopedN("WORK");
    launch.spin(launch.arg(0));
}

KERNEL(full_buffer) {
    for (int pass = 0; pass < FULL_BUFFER_ZONES; ++pass) {
#line LINE_TEST_FULL "sim/src/kernel/body.rs"
        DeviceZoneScopedN("TEST-FULL");
        Launch::spin(12);
    }
}

KERNEL(timestamped_events) {
    for (uint16_t pass = 0; pass < EVENT_PASSES; ++pass) {
#line LINE_TEST "sim/src/kernel/body.rs"
        DeviceZoneScopedN("TEST");
#line LINE_TEST_DATA "sim/src/kernel/body.rs"
        DeviceTimestampedData("TEST-DATA", uint64_t{pass} + (uint64_t{1} << 32));
        DeviceRecordEvent(pass);
        Launch::spin(20);
    }
}

KERNEL(wide_data) {
    const Launch launch(message);
    for (uint32_t index = 0; index < launch.arg(0); ++index) {
#line LINE_WIDE "sim/src/kernel/body.rs"
        DeviceTimestampedData16B("WIDE", uint64_t{index}, UINT64_MAX);
    }
}

KERNEL(counted_instructions) {
    const Launch launch(message);
    launch.give_data();
    StartPerfCounters();
    launch.issue_all();
    StopPerfCounters();
    ReadPerfCounters(~0u);
}

KERNEL(sums) {
    const Launch launch(message);
    for (uint32_t pass = 0; pass < launch.arg(0); ++pass) {
#line LINE_SUM_ONE "sim/src/kernel/body.rs"
        DeviceZoneScopedSumN1("SUM-ONE");
        launch.spin(launch.arg(1));
#line LINE_SUM_TWO "sim/src/kernel/body.rs"
        DeviceZoneScopedSumN2("SUM-TWO");
        launch.spin(launch.arg(1));
    }
}

// The Rust kernel works for random times, which do not affect its records.
KERNEL(matmul_math) {
    const Launch launch(message);
#line LINE_Matmul "sim/src/kernel/body.rs"
    DeviceZoneScopedN("Matmul");
    for (uint32_t block = 0; block < launch.arg(0); ++block) {
        {
#line LINE_WaitUnpack "sim/src/kernel/body.rs"
            DeviceZoneScopedSumN1("WaitUnpack");
            launch.spin(100);
        }
#line LINE_MatmulBlock "sim/src/kernel/body.rs"
        DeviceZoneScopedN("MatmulBlock");
#line LINE_MathBusy "sim/src/kernel/body.rs"
        DeviceZoneScopedSumN2("MathBusy");
        launch.spin(100);
        DeviceRecordEvent(static_cast<uint16_t>(block));
    }
}
