// A host runtime in C++ that reads the device profiler after each batch of programs, or while the
// programs run.
//
//     read_mesh WORKLOAD ARCH CHIPS SEED GRID FOLDER [PERIOD_US [OUTPUT]]
//
// The chips are simulated: a real runtime calls its own driver in place of `SimulatedBackend`. The
// program prints its counts as one JSON object, and writes every output to FOLDER, or only OUTPUT.
// With PERIOD_US, a thread of the library reads once in each period.

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "kprof.hpp"
#include "simulated_mesh.h"

namespace {

class SimulatedBackend : public kprof::Backend {
public:
    explicit SimulatedBackend(SimulatedMesh* mesh) : mesh_(mesh) {}

    /// Runs a phase in slices of time; other threads can read between the slices.
    void run_phase(std::size_t phase) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            simulated_mesh_begin_phase(mesh_, phase);
        }
        while (run_for(20'000)) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    std::vector<kprof::Chip> chips() override {
        std::vector<kprof::Chip> chips(simulated_mesh_chip_count(mesh_));
        for (std::size_t index = 0; index < chips.size(); ++index) {
            SimulatedChip chip{};
            simulated_mesh_chip(mesh_, index, &chip);
            kprof::Chip& to = chips[index];
            to.arch = chip.arch;
            to.description.chip_id = chip.chip_id;
            to.description.aiclk_mhz = chip.aiclk_mhz;
            to.description.max_compute_cores = chip.max_compute_cores;
            to.description.bank_count = chip.bank_count;
            to.description.region_address = chip.region_address;
            to.description.region_bytes = chip.region_bytes;
            for (std::size_t number = 0; number < chip.core_count; ++number) {
                SimulatedCore core{};
                simulated_mesh_core(mesh_, index, number, &core);
                to.cores.push_back({core.noc0_x, core.noc0_y, core.logical_x, core.logical_y,
                                    core.kind, core.flat_id, core.control_address,
                                    core.vector_address});
            }
        }
        return chips;
    }

    void read_l1(std::uint32_t chip, std::uint16_t x, std::uint16_t y, std::uint64_t address,
                 std::uint32_t* words, std::size_t count) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        done(simulated_mesh_read_l1(mesh_, chip, x, y, address, words, count));
    }

    void write_l1(std::uint32_t chip, std::uint16_t x, std::uint16_t y, std::uint64_t address,
                  const std::uint32_t* words, std::size_t count) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        done(simulated_mesh_write_l1(mesh_, chip, x, y, address, words, count));
    }

    void read_dram(std::uint32_t chip, std::uint32_t bank, std::uint64_t address,
                   std::uint32_t* words, std::size_t count) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        done(simulated_mesh_read_dram(mesh_, chip, bank, address, words, count));
    }

    std::uint64_t read_wall_clock(std::uint32_t chip, std::uint16_t x, std::uint16_t y) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::uint64_t cycles = 0;
        done(simulated_mesh_read_wall_clock(mesh_, chip, x, y, &cycles));
        return cycles;
    }

    std::uint64_t host_time_ns() noexcept override {
        const std::lock_guard<std::mutex> lock(mutex_);
        return simulated_mesh_host_time_ns(mesh_);
    }

    void wait_ns(std::uint64_t duration_ns) noexcept override {
        const std::lock_guard<std::mutex> lock(mutex_);
        simulated_mesh_wait_ns(mesh_, duration_ns);
    }

private:
    bool run_for(std::uint64_t duration_ns) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return simulated_mesh_run_for(mesh_, duration_ns) != 0;
    }

    void done(std::int32_t code) const {
        if (code != 0) {
            throw kprof::AccessError(code, simulated_mesh_error(mesh_));
        }
    }

    SimulatedMesh* mesh_;
    std::mutex mutex_;
};

/// Reads everything recorded since the last call; named after TT-Metal's function.
void ReadMeshDeviceProfilerResults(kprof::Session& session, kprof::Mesh& mesh,
                                   bool is_last_read) {
    session.read(mesh, is_last_read);
}

/// Counts the zone starts in the columns of all lanes: an example of a runtime's own analysis.
std::uint64_t count_zone_starts(const kprof::Recording& recording) {
    std::uint64_t starts = 0;
    for (std::size_t index = 0; index < recording.lane_count(); ++index) {
        const kprof::Lane lane = recording.lane(index);
        for (const std::uint32_t head : lane.heads) {
            starts += kprof::kind_of(head) == KPROF_RECORD_ZONE_START ? 1 : 0;
        }
    }
    return starts;
}

void print_counts(const kprof::Recording& recording) {
    const KprofCounts counts = recording.counts();
    std::uint64_t lost = 0;
    for (const char* kind : {"zones", "data", "events", "sums", "unknown_markers"}) {
        for (const std::uint64_t count :
             kprof::values_of<std::uint64_t>(recording.column("losses", kind))) {
            lost += count;
        }
    }
    std::printf("{\"kept\":{\"zones\":%" PRIu64 ",\"data\":%" PRIu64 ",\"events\":%" PRIu64
                ",\"sums\":%" PRIu64 ",\"open_zones\":%" PRIu64 ",\"orphan_ends\":%" PRIu64 "},",
                counts.zones, counts.data, counts.events, counts.sums, counts.open_zones,
                counts.orphan_ends);
    std::printf("\"lost\":{\"l1_full\":%" PRIu64 ",\"dram_full\":%" PRIu64
                ",\"validate_off\":%" PRIu64 ",\"other\":%" PRIu64 "},",
                counts.lost_l1_full, counts.lost_dram_full, counts.lost_validate_off,
                counts.lost_other);
    std::printf("\"anomalies\":%" PRIu64 ",\"repairs\":%" PRIu64 ",\"words_read\":%" PRIu64
                ",\"ops\":%" PRIu64 ",\"lost_in_rows\":%" PRIu64 ",\"zone_starts\":%" PRIu64 ",",
                counts.anomalies, counts.repairs, counts.words_read, counts.ops, lost,
                count_zone_starts(recording));
    const KprofClock clock = recording.clock(0);
    const kprof::Lane lane = recording.lane(0);
    const auto [times, bound] = recording.host_ns(0, lane.times);
    std::printf("\"is_host_time\":%" PRIu32 ",\"frequency_ghz\":%.9f,\"bound_ns\":%.3f,"
                "\"first_ns\":%" PRId64 ",\"first_zone\":\"%s\",\"first_op\":\"%s\"}\n",
                clock.is_host_time, clock.frequency_ghz, bound, times.front(),
                std::string(kprof::view(recording.zone(kprof::zone_of(lane.heads[0])).name)).c_str(),
                std::string(kprof::view(kprof::values_of<KprofText>(recording.column("ops", "name"))[0])).c_str());
}

/// Adds the names of all zones of the programs that have run so far.
void add_names(SimulatedMesh* chips, kprof::Session& session) {
    for (std::size_t zone = 0; const char* text = simulated_mesh_zone_text(chips, zone); ++zone) {
        session.add_zone_text(text);
    }
}

/// Reads after each phase.
void read_between(SimulatedMesh* chips, kprof::Session& session, kprof::Mesh& mesh) {
    const std::size_t phases = simulated_mesh_phase_count(chips);
    for (std::size_t phase = 0; phase < phases; ++phase) {
        simulated_mesh_run_phase(chips, phase);
        add_names(chips, session);
        ReadMeshDeviceProfilerResults(session, mesh, phase + 1 == phases);
    }
}

/// Reads once in each period from a thread of the library, at least three times before the last read.
void read_meanwhile(SimulatedMesh* chips, SimulatedBackend& backend, kprof::Session& session,
                    kprof::Mesh& mesh, std::chrono::microseconds period) {
    kprof::PeriodicReader reader(session, mesh, period);
    const std::size_t phases = simulated_mesh_phase_count(chips);
    for (std::size_t phase = 0; phase < phases; ++phase) {
        backend.run_phase(phase);
    }
    while (reader.counts().reads < 3) {
        std::this_thread::sleep_for(period);
    }
    const KprofPeriodicCounts counts = reader.stop();
    std::fprintf(stderr, "%" PRIu64 " reads, %" PRIu64 " failed\n", counts.reads,
                 counts.failed_reads);
    // Names may be added after their records were read.
    add_names(chips, session);
}

void run(SimulatedMesh* chips, const std::string& folder, std::chrono::microseconds period,
         bool keeps_programs, const std::string& only_output) {
    SimulatedBackend backend(chips);
    kprof::Mesh mesh(backend);
    mesh.init(simulated_mesh_support_count(chips));
    kprof::Session session((folder + "/run.kprof").c_str());
    session.add_op(0, 1U << 10U, "FirstProgram");
    if (keeps_programs) {
        session.keep_programs();
    }
    session.open_clocks(mesh);
    if (period.count() > 0) {
        read_meanwhile(chips, backend, session, mesh, period);
    } else {
        read_between(chips, session, mesh);
    }
    if (keeps_programs) {
        std::ofstream(folder + "/latest.json") << session.latest_programs_json();
        std::ofstream(folder + "/programs.json") << session.all_programs_json();
    }
    session.close_clocks(mesh);
    const kprof::Recording recording = session.finish();
    print_counts(recording);
    const std::string_view causes = recording.explain_json();
    std::ofstream(folder + "/explain.json", std::ios::binary) << causes;
    for (const std::string& output : kprof::Recording::outputs()) {
        if (!only_output.empty() && output != only_output) {
            continue;
        }
        try {
            recording.write(output.c_str(), folder + "/" + output);
        } catch (const kprof::Error& error) {
            // An output is not available if the recording lacks its data, such as NoC events.
            if (error.status() != KPROF_STATUS_NOT_AVAILABLE) {
                throw;
            }
            std::fprintf(stderr, "%s: %s\n", output.c_str(), error.what());
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 7 || argc > 9 || kprof_abi_version() != KPROF_ABI_VERSION) {
        std::fprintf(stderr,
                     "usage: read_mesh WORKLOAD ARCH CHIPS SEED GRID FOLDER [PERIOD_US [OUTPUT]]\n");
        return 2;
    }
    const auto number = [&](int index) { return std::strtoull(argv[index], nullptr, 10); };
    SimulatedMesh* chips = simulated_mesh_new(argv[1], argv[2],
                                              static_cast<std::uint32_t>(number(3)), number(4),
                                              argv[5]);
    if (chips == nullptr) {
        std::fprintf(stderr, "there is no such workload, architecture or grid\n");
        return 2;
    }
    int code = 0;
    try {
        const std::chrono::microseconds period(argc > 7 ? number(7) : 0);
        // With a period of 0, the session keeps the figures of the programs of each read.
        run(chips, argv[6], period, argc > 7 && period.count() == 0, argc > 8 ? argv[8] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "read_mesh: %s\n", error.what());
        code = 1;
    }
    simulated_mesh_free(chips);
    return code;
}
