// C++17 interface of the device profiler's host side. Handles free themselves, and errors are
// exceptions. All code is in this file and in the C header. Programs must link the library kprof_c.
//
// The rules of kprof.h apply here too: a mesh and a session can be used by one call at a time, a
// recording may be read by any number of threads, and a periodic reader has its own thread.
#ifndef KPROF_HPP
#define KPROF_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kprof.h"

namespace kprof {

/// A failed call: its status code, and the library's message.
class Error : public std::runtime_error {
public:
    explicit Error(KprofStatus status) : std::runtime_error(kprof_last_error()), status_(status) {}
    KprofStatus status() const noexcept { return status_; }

private:
    KprofStatus status_;
};

inline void check(KprofStatus status) {
    if (status != KPROF_STATUS_OK) {
        throw Error(status);
    }
}

/// A failed access to a chip. Backends throw this exception.
class AccessError : public std::runtime_error {
public:
    AccessError(std::int32_t code, const std::string& text)
        : std::runtime_error(text), code_(code) {}
    std::int32_t code() const noexcept { return code_; }

private:
    std::int32_t code_;
};

/// A chip with its cores.
struct Chip {
    std::string arch;
    std::vector<KprofCore> cores;
    /// All other fields of the chip. The library sets the fields `arch`, `cores` and `core_count`.
    KprofChip description{};
};

/// A host's access to its chips. If a function throws, the access fails, and the library catches
/// the exception.
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::vector<Chip> chips() = 0;
    virtual void read_l1(std::uint32_t chip, std::uint16_t x, std::uint16_t y,
                         std::uint64_t address, std::uint32_t* words, std::size_t count) = 0;
    virtual void write_l1(std::uint32_t chip, std::uint16_t x, std::uint16_t y,
                          std::uint64_t address, const std::uint32_t* words,
                          std::size_t count) = 0;
    virtual void read_dram(std::uint32_t chip, std::uint32_t bank, std::uint64_t address,
                           std::uint32_t* words, std::size_t count) = 0;
    virtual std::uint64_t read_wall_clock(std::uint32_t chip, std::uint16_t x,
                                          std::uint16_t y) = 0;
    /// Reads the host's monotonic clock; must not throw.
    virtual std::uint64_t host_time_ns() noexcept = 0;
    /// Waits on the host; must not throw.
    virtual void wait_ns(std::uint64_t duration_ns) noexcept = 0;

private:
    friend class Mesh;
    std::string last_error_;
};

/// A mesh of chips. The backend must outlive it.
class Mesh {
public:
    explicit Mesh(Backend& backend) {
        const std::vector<Chip> chips = backend.chips();
        std::vector<KprofChip> descriptions;
        for (const Chip& chip : chips) {
            KprofChip description = chip.description;
            description.arch = chip.arch.c_str();
            description.cores = chip.cores.data();
            description.core_count = chip.cores.size();
            descriptions.push_back(description);
        }
        KprofMeshCallbacks callbacks{};
        callbacks.struct_size = sizeof callbacks;
        callbacks.context = &backend;
        callbacks.read_l1 = [](void* context, std::uint32_t chip, std::uint16_t x,
                               std::uint16_t y, std::uint64_t address, std::uint32_t* words,
                               std::size_t count) noexcept {
            return access(context,
                          [&](Backend& to) { to.read_l1(chip, x, y, address, words, count); });
        };
        callbacks.write_l1 = [](void* context, std::uint32_t chip, std::uint16_t x,
                                std::uint16_t y, std::uint64_t address,
                                const std::uint32_t* words, std::size_t count) noexcept {
            return access(context,
                          [&](Backend& to) { to.write_l1(chip, x, y, address, words, count); });
        };
        callbacks.read_dram = [](void* context, std::uint32_t chip, std::uint32_t bank,
                                 std::uint64_t address, std::uint32_t* words,
                                 std::size_t count) noexcept {
            return access(context,
                          [&](Backend& to) { to.read_dram(chip, bank, address, words, count); });
        };
        callbacks.read_wall_clock = [](void* context, std::uint32_t chip, std::uint16_t x,
                                       std::uint16_t y, std::uint64_t* cycles) noexcept {
            return access(context,
                          [&](Backend& to) { *cycles = to.read_wall_clock(chip, x, y); });
        };
        callbacks.host_time_ns = [](void* context) noexcept {
            return static_cast<Backend*>(context)->host_time_ns();
        };
        callbacks.wait_ns = [](void* context, std::uint64_t duration_ns) noexcept {
            static_cast<Backend*>(context)->wait_ns(duration_ns);
        };
        callbacks.last_error = [](void* context) noexcept {
            return static_cast<Backend*>(context)->last_error_.c_str();
        };
        KprofMesh* made = nullptr;
        check(kprof_mesh_new(&callbacks, descriptions.data(), descriptions.size(), &made));
        handle_.reset(made);
    }

    /// Prepares every chip. Call this function before the first kernel is launched.
    void init(std::uint32_t program_support_count, bool sums_enabled = false) {
        const KprofInitOptions options{sizeof(KprofInitOptions), program_support_count,
                                       sums_enabled ? 1U : 0U};
        check(kprof_init_device_profiler(get(), &options));
    }

    KprofMesh* get() const noexcept { return handle_.get(); }

private:
    template <typename Access>
    static std::int32_t access(void* context, Access call) noexcept {
        auto& backend = *static_cast<Backend*>(context);
        std::int32_t code = KPROF_ACCESS_UNREACHABLE;
        // Storing the text may fail for lack of memory. Only the code is then returned.
        try {
            try {
                call(backend);
                return KPROF_ACCESS_OK;
            } catch (const AccessError& error) {
                code = error.code();
                backend.last_error_ = error.what();
            } catch (const std::exception& error) {
                backend.last_error_ = error.what();
            } catch (...) {
                backend.last_error_ = "an exception of an unknown type";
            }
        } catch (...) {
        }
        return code == KPROF_ACCESS_OK ? KPROF_ACCESS_UNREACHABLE : code;
    }

    struct Free {
        void operator()(KprofMesh* mesh) const noexcept { kprof_mesh_free(mesh); }
    };
    std::unique_ptr<KprofMesh, Free> handle_;
};

/// Contiguous values. Their memory belongs to a recording.
template <typename T>
class Column {
public:
    Column() = default;
    Column(const T* values, std::size_t count) : values_(values), count_(count) {}
    const T* begin() const noexcept { return values_; }
    const T* end() const noexcept { return values_ + count_; }
    std::size_t size() const noexcept { return count_; }
    const T& operator[](std::size_t index) const noexcept { return values_[index]; }

private:
    const T* values_ = nullptr;
    std::size_t count_ = 0;
};

/// The values of a column; `T` must be the C type of its kind.
template <typename T>
Column<T> values_of(const KprofColumn& column) noexcept {
    return {static_cast<const T*>(column.values), column.row_count};
}

inline std::string_view view(const KprofText& text) noexcept { return {text.bytes, text.size}; }

/// Returns the kind in a record's head, one of `KPROF_RECORD_...`.
inline std::uint32_t kind_of(std::uint32_t head) noexcept { return head >> KPROF_HEAD_ZONE_BITS; }

/// Returns the zone in a record's head.
inline std::uint32_t zone_of(std::uint32_t head) noexcept {
    return head & ((1U << KPROF_HEAD_ZONE_BITS) - 1U);
}

/// The records of one RISC.
struct Lane {
    std::uint32_t chip_id;
    std::uint16_t core_x, core_y;
    std::string_view risc;
    Column<std::uint32_t> heads;
    Column<std::uint64_t> times;
    Column<std::uint64_t> data;
    Column<KprofRun> runs;
};

/// All recorded data of one run. Data that the functions return belongs to the recording.
class Recording {
public:
    explicit Recording(KprofRecording* handle) : handle_(handle) {}

    /// Loads a capture, a device log or a folder of logs.
    static Recording load(const std::string& file, std::size_t run = 0) {
        KprofRecording* loaded = nullptr;
        check(kprof_load(file.c_str(), run, &loaded));
        return Recording(loaded);
    }

    KprofCounts counts() const {
        KprofCounts counts{};
        counts.struct_size = sizeof counts;
        check(kprof_recording_counts(get(), &counts));
        return counts;
    }

    std::size_t lane_count() const { return counts().lanes; }

    Lane lane(std::size_t index) const {
        KprofLane lane{};
        lane.struct_size = sizeof lane;
        check(kprof_recording_lane(get(), index, &lane));
        return {lane.chip_id,
                lane.core_x,
                lane.core_y,
                view(lane.risc),
                {lane.heads, lane.record_count},
                {lane.times, lane.record_count},
                {lane.data, lane.data_count},
                {lane.runs, lane.run_count}};
    }

    KprofZone zone(std::uint32_t number) const {
        KprofZone zone{};
        zone.struct_size = sizeof zone;
        check(kprof_recording_zone(get(), number, &zone));
        return zone;
    }

    /// Returns a column of a table, such as `kernel_ns` of `ops`; see `kprof schema`.
    KprofColumn column(const char* table, const char* name) const {
        KprofColumn column{};
        column.struct_size = sizeof column;
        check(kprof_recording_column(get(), table, name, &column));
        return column;
    }

    /// Returns the columns of a table.
    std::vector<KprofColumn> columns(const char* table) const {
        std::vector<KprofColumn> all;
        KprofColumn column{};
        column.struct_size = sizeof column;
        while (kprof_recording_column_at(get(), table, all.size(), &column) == KPROF_STATUS_OK) {
            all.push_back(column);
        }
        return all;
    }

    Column<KprofText> uncounted() const { return rows<KprofText>(kprof_recording_uncounted); }
    Column<KprofOpenZones> open_zones() const {
        return rows<KprofOpenZones>(kprof_recording_open_zones);
    }
    Column<KprofAnomaly> anomalies() const {
        return rows<KprofAnomaly>(kprof_recording_anomalies);
    }

    KprofClock clock(std::uint32_t chip_id) const {
        KprofClock clock{};
        clock.struct_size = sizeof clock;
        check(kprof_recording_clock(get(), chip_id, &clock));
        return clock;
    }

    /// Converts cycles of a chip to nanoseconds of the host's clock. Also returns the maximum error
    /// of these times in nanoseconds.
    std::pair<std::vector<std::int64_t>, double> host_ns(std::uint32_t chip_id,
                                                         Column<std::uint64_t> cycles) const {
        std::vector<std::int64_t> times(cycles.size());
        double bound = 0;
        check(kprof_recording_host_ns(get(), chip_id, cycles.begin(), times.data(), times.size(),
                                      &bound));
        return {std::move(times), bound};
    }

    /// Returns the causes of slowness as JSON.
    std::string_view explain_json() const {
        KprofText json{};
        check(kprof_recording_explain_json(get(), &json));
        return view(json);
    }

    /// Writes an output to a file; `outputs()` returns the names of outputs.
    void write(const char* output, const std::string& file, const char* filter = nullptr) const {
        check(kprof_recording_write(get(), output, filter, file.c_str()));
    }

    static std::vector<std::string> outputs() {
        std::vector<std::string> names;
        while (const char* name = kprof_output_name(names.size())) {
            names.emplace_back(name);
        }
        return names;
    }

    const KprofRecording* get() const noexcept { return handle_.get(); }

private:
    template <typename Row, typename Call>
    Column<Row> rows(Call call) const {
        const Row* rows = nullptr;
        std::size_t count = 0;
        check(call(get(), &rows, &count));
        return {rows, count};
    }

    struct Free {
        void operator()(KprofRecording* recording) const noexcept {
            kprof_recording_free(recording);
        }
    };
    std::unique_ptr<KprofRecording, Free> handle_;
};

/// Several reads of a mesh that form one recording.
class Session {
public:
    /// Begins a session. With `capture`, all data that is read is also written to a new capture of
    /// this name.
    explicit Session(const char* capture = nullptr, const KprofReadOptions* options = nullptr) {
        KprofSession* made = nullptr;
        check(kprof_session_new(options, capture, &made));
        handle_.reset(made);
    }

    void add_zone_text(const char* text) { check(kprof_session_add_zone_text(get(), text)); }
    void add_elf(const std::string& file) { check(kprof_session_add_elf(get(), file.c_str())); }
    void add_zone_logs(const std::string& folder) {
        check(kprof_session_add_zone_logs(get(), folder.c_str()));
    }
    void add_op(std::uint32_t chip_id, std::uint32_t run_host_id, const char* name) {
        check(kprof_session_add_op(get(), chip_id, run_host_id, name));
    }
    void open_clocks(Mesh& mesh) { check(kprof_session_open_clocks(get(), mesh.get())); }
    void close_clocks(Mesh& mesh) { check(kprof_session_close_clocks(get(), mesh.get())); }
    void read(Mesh& mesh, bool is_last_read = false) {
        check(kprof_session_read(get(), mesh.get(), is_last_read ? 1U : 0U));
    }
    bool about_to_overflow(Mesh& mesh, std::uint32_t launches) {
        std::uint32_t is_about_to = 0;
        check(kprof_session_about_to_overflow(get(), mesh.get(), launches, &is_about_to));
        return is_about_to != 0;
    }
    /// Keeps performance figures of programs from the next read on.
    void keep_programs() { check(kprof_session_keep_programs(get())); }
    /// Returns the programs of the latest read by chip, as JSON.
    std::string latest_programs_json() { return programs_json(0); }
    /// Returns the programs of all reads by chip, as JSON.
    std::string all_programs_json() { return programs_json(1); }
    Recording finish() {
        KprofRecording* recording = nullptr;
        check(kprof_session_finish(get(), &recording));
        return Recording(recording);
    }

    KprofSession* get() const noexcept { return handle_.get(); }

private:
    std::string programs_json(std::uint32_t is_of_all) {
        KprofText json{};
        check(kprof_session_programs_json(get(), is_of_all, &json));
        return std::string(view(json));
    }

    struct Free {
        void operator()(KprofSession* session) const noexcept { kprof_session_free(session); }
    };
    std::unique_ptr<KprofSession, Free> handle_;
};

/// A thread that reads a mesh periodically while programs run on it. Until the thread is stopped,
/// it calls the backend, and no other call may use session and mesh. Both must outlive the reader.
class PeriodicReader {
public:
    template <typename Count, typename Unit>
    PeriodicReader(Session& session, Mesh& mesh, std::chrono::duration<Count, Unit> period) {
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(period).count();
        KprofPeriodicReader* made = nullptr;
        check(kprof_periodic_start(session.get(), mesh.get(),
                                   ns < 0 ? 0U : static_cast<std::uint64_t>(ns), &made));
        handle_.reset(made);
    }

    /// Returns the number of reads so far.
    KprofPeriodicCounts counts() const {
        KprofPeriodicCounts counts{};
        counts.struct_size = sizeof counts;
        check(kprof_periodic_counts(handle_.get(), &counts));
        return counts;
    }

    /// Stops the thread after a last read. Throws if the last read failed. If this function is not
    /// called, the destructor stops the thread.
    KprofPeriodicCounts stop() {
        KprofPeriodicCounts counts{};
        counts.struct_size = sizeof counts;
        check(kprof_periodic_stop(handle_.release(), &counts));
        return counts;
    }

private:
    struct Stop {
        void operator()(KprofPeriodicReader* reader) const noexcept {
            kprof_periodic_stop(reader, nullptr);
        }
    };
    std::unique_ptr<KprofPeriodicReader, Stop> handle_;
};

/// Reads all records of a mesh, with its clocks.
inline Recording read_device_profiler(Mesh& mesh, const KprofReadOptions* options = nullptr) {
    KprofRecording* recording = nullptr;
    check(kprof_read_device_profiler(mesh.get(), options, &recording));
    return Recording(recording);
}

}  // namespace kprof

#endif
