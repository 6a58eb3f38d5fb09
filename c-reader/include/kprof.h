#ifndef KPROF_H
#define KPROF_H

/* Made from the crate kprof-c by cbindgen; change that, not this. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Version of the interface; structs may differ between versions.
#define KPROF_ABI_VERSION 1

/// Result of a callback: the access was carried out.
#define KPROF_ACCESS_OK 0

/// Result of a callback: there is no such core.
#define KPROF_ACCESS_NO_SUCH_CORE 1

/// Result of a callback: the requested words are not all within the core's L1 or the DRAM bank.
#define KPROF_ACCESS_OUT_OF_RANGE 2

/// Result of a callback: the chip does not answer. Any result without a constant has the same
/// meaning.
#define KPROF_ACCESS_UNREACHABLE 3

/// Result of a callback: the requested words are lost, so the access must not be repeated.
#define KPROF_ACCESS_GONE 4

/// Kind of a core: a compute tile with five RISCs.
#define KPROF_CORE_TENSIX 0

/// Kind of a core: an Ethernet tile that is connected to another chip.
#define KPROF_CORE_ACTIVE_ETH 1

/// Kind of a core: an Ethernet tile that is not connected.
#define KPROF_CORE_IDLE_ETH 2

/// Type of a column's values: `uint32_t`.
#define KPROF_COLUMN_UINT32 0

/// Type of a column's values: `uint64_t`.
#define KPROF_COLUMN_UINT64 1

/// Type of a column's values: `int64_t`.
#define KPROF_COLUMN_INT64 2

/// Type of a column's values: `uint8_t`, 1 for true and 0 for false.
#define KPROF_COLUMN_FLAG 3

/// Type of a column's values: `double`.
#define KPROF_COLUMN_DOUBLE 4

/// Type of a column's values: `KprofText`.
#define KPROF_COLUMN_TEXT 5

/// Kind of a record: a zone opens.
#define KPROF_RECORD_ZONE_START 0

/// Kind of a record: a zone closes.
#define KPROF_RECORD_ZONE_END 1

/// Kind of a record: the total cycles of a sum zone in one launch. The record has one value.
#define KPROF_RECORD_ZONE_TOTAL 2

/// Kind of a record: 64 bits of data. The record has one value.
#define KPROF_RECORD_DATA 3

/// Kind of a record: an event.
#define KPROF_RECORD_EVENT 4

/// Kind of a record: 128 bits of data. The record has two values.
#define KPROF_RECORD_DATA_16B 5

/// Number of low bits that contain the zone's number in the head of a record. The higher bits of
/// the head contain the record's kind.
#define KPROF_HEAD_ZONE_BITS 24

/// Result of a call.
typedef enum KprofStatus {
    /// The call succeeded.
    KPROF_STATUS_OK = 0,
    /// An argument is null, misaligned, not UTF-8 or out of range.
    KPROF_STATUS_INVALID_ARGUMENT = 1,
    /// A struct or a buffer has a different size than this version expects.
    KPROF_STATUS_WRONG_SIZE = 2,
    /// Another call uses the handle.
    KPROF_STATUS_BUSY = 3,
    /// The mesh cannot be prepared with these options.
    KPROF_STATUS_INIT_FAILED = 4,
    /// No data could be read.
    KPROF_STATUS_READ_FAILED = 5,
    /// A capture cannot be written. The data that was read from the chips is kept in memory.
    KPROF_STATUS_CAPTURE_FAILED = 6,
    /// A file cannot be read, or has an unknown format.
    KPROF_STATUS_LOAD_FAILED = 7,
    /// A file cannot be written.
    KPROF_STATUS_WRITE_FAILED = 8,
    /// The recording does not have the requested data.
    KPROF_STATUS_NOT_AVAILABLE = 9,
    /// The library panicked. The handles that were passed to the call can only be freed.
    KPROF_STATUS_PANIC = 10,
} KprofStatus;

/// A mesh of chips; created by `kprof_mesh_new`, freed by `kprof_mesh_free`.
typedef struct KprofMesh KprofMesh;

/// A thread that reads a mesh periodically; created by `kprof_periodic_start`, stopped and freed by
/// `kprof_periodic_stop`.
typedef struct KprofPeriodicReader KprofPeriodicReader;

/// All recorded data of one run; created by reads and loads, freed by `kprof_recording_free`.
typedef struct KprofRecording KprofRecording;

/// Several reads of a mesh that form one recording; created by `kprof_session_new`, freed by
/// `kprof_session_free`.
typedef struct KprofSession KprofSession;

/// Time stamps of a message that is sent over a link and echoed.
typedef struct KprofPing {
    /// Sender's clock when the message was sent, in cycles.
    uint64_t sender_start_cycles;
    /// Receiver's clock when the message arrived, in cycles.
    uint64_t receiver_start_cycles;
    /// Receiver's clock when the echo was sent, in cycles.
    uint64_t receiver_end_cycles;
    /// Sender's clock when the echo arrived, in cycles.
    uint64_t sender_end_cycles;
} KprofPing;

/// Two cores of different chips that can exchange messages directly.
typedef struct KprofLink {
    /// Index of the chip that sends the message.
    uint32_t sender;
    /// Index of the chip that echoes the message.
    uint32_t receiver;
    /// Column of the sending core on the NoC-0 grid.
    uint16_t sender_x;
    /// Row of the sending core on the NoC-0 grid.
    uint16_t sender_y;
    /// Column of the echoing core on the NoC-0 grid.
    uint16_t receiver_x;
    /// Row of the echoing core on the NoC-0 grid.
    uint16_t receiver_y;
} KprofLink;

/// Callbacks that access the chips of a mesh.
///
/// The parameter `chip` of a callback is the index of a chip in the mesh, from 0. The parameter
/// `context` is the field `context` of this struct.
///
/// The first four callbacks must be set. The other callbacks may be null.
typedef struct KprofMeshCallbacks {
    /// `sizeof(KprofMeshCallbacks)`.
    size_t struct_size;
    /// Pointer that is passed to every callback; the library does not dereference it.
    void *context;
    /// Reads words from a core's L1, in address order.
    int32_t (*read_l1)(void *context,
                       uint32_t chip,
                       uint16_t x,
                       uint16_t y,
                       uint64_t address,
                       uint32_t *words,
                       size_t word_count);
    /// Writes words to a core's L1, in address order.
    int32_t (*write_l1)(void *context,
                        uint32_t chip,
                        uint16_t x,
                        uint16_t y,
                        uint64_t address,
                        const uint32_t *words,
                        size_t word_count);
    /// Reads words from a DRAM bank.
    int32_t (*read_dram)(void *context,
                         uint32_t chip,
                         uint32_t bank,
                         uint64_t address,
                         uint32_t *words,
                         size_t word_count);
    /// Reads a tile's 64-bit wall clock.
    int32_t (*read_wall_clock)(void *context,
                               uint32_t chip,
                               uint16_t x,
                               uint16_t y,
                               uint64_t *cycles);
    /// Reads the host's monotonic clock in nanoseconds. If null, the library reads the system's
    /// `CLOCK_MONOTONIC`, so that times in several recordings of one machine can be compared.
    uint64_t (*host_time_ns)(void *context);
    /// Waits on the host for `duration_ns`. If null, the calling thread sleeps.
    void (*wait_ns)(void *context, uint64_t duration_ns);
    /// Sends a message over the link with the index `link`, and makes the receiver echo the
    /// message. If null, no links are used.
    int32_t (*exchange)(void *context, uint32_t link, struct KprofPing *ping);
    /// Returns a message about the last failed callback, or null. The message must stay valid until
    /// the next callback.
    const char *(*last_error)(void *context);
    /// Links between the chips.
    const struct KprofLink *links;
    /// Number of links.
    size_t link_count;
} KprofMeshCallbacks;

/// A core that can be profiled, with the addresses of its profiler memory.
typedef struct KprofCore {
    /// Column on the NoC-0 grid.
    uint16_t noc0_x;
    /// Row on the NoC-0 grid.
    uint16_t noc0_y;
    /// Column in the grid of cores of the same kind.
    uint16_t logical_x;
    /// Row in the grid of cores of the same kind.
    uint16_t logical_y;
    /// One of `KPROF_CORE_TENSIX`, `KPROF_CORE_ACTIVE_ETH`, `KPROF_CORE_IDLE_ETH`.
    uint32_t kind;
    /// Index of the core in the list of its chip's cores. The list is ordered by NoC-0 x, then by
    /// NoC-0 y.
    uint32_t flat_id;
    /// L1 byte address of the control vector.
    uint64_t control_address;
    /// L1 byte address of the vector in which the first RISC records. The vectors of the other
    /// RISCs follow without gaps.
    uint64_t vector_address;
} KprofCore;

/// A chip of a mesh.
typedef struct KprofChip {
    /// Number of the chip in its mesh.
    uint32_t chip_id;
    /// Clock frequency of the tiles in MHz.
    uint32_t aiclk_mhz;
    /// Lower-case name of the architecture, such as `wormhole_b0`.
    const char *arch;
    /// Cores that can be profiled, ordered by flat id.
    const struct KprofCore *cores;
    /// Number of cores.
    size_t core_count;
    /// Number of worker cores, as printed in the first line of a device log.
    uint32_t max_compute_cores;
    /// Number of DRAM banks that hold profiler data. The data of each core is in one of these
    /// banks.
    uint32_t bank_count;
    /// Byte address of the profiler region, equal in every bank.
    uint64_t region_address;
    /// Bytes reserved for the region in each bank.
    uint64_t region_bytes;
} KprofChip;

/// Options for preparing a mesh.
typedef struct KprofInitOptions {
    /// `sizeof(KprofInitOptions)`.
    size_t struct_size;
    /// Number of programs that each RISC's DRAM lane can hold, as in
    /// `TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT`.
    uint32_t program_support_count;
    /// 1 if kernels record sum zones, else 0.
    uint32_t sums_enabled;
} KprofInitOptions;

/// Options for reading a mesh. Usually all fields but `struct_size` and `program_support_count` are
/// 0.
typedef struct KprofReadOptions {
    /// `sizeof(KprofReadOptions)`.
    size_t struct_size;
    /// Number of programs that a lane can hold. Used only if the device does not report the size of
    /// its lanes.
    uint32_t program_support_count;
    /// Not 0 if lanes have room for sums; used if the device does not report its lane size.
    uint32_t sums_enabled;
    /// Generation of the record format: 0 to detect it on the chip, 1 for the current, 2 for the
    /// previous generation.
    uint32_t generation;
    /// Format of the program ids in launches: 0 for plain ids, 1 for ids encoded with the chip.
    uint32_t host_ids;
    /// Capture mode of the device.
    ///
    /// 0: records of workers. 1: records of workers and dispatch cores. 2: one zone for each replay
    /// of a trace, which encloses the replay. 3: records of workers; each worker collects the
    /// records of several launches before it writes them to DRAM.
    uint32_t mode;
} KprofReadOptions;

/// A text without a terminating zero byte. Its memory belongs to the recording, the session or the
/// library.
typedef struct KprofText {
    /// The text in UTF-8.
    const char *bytes;
    /// Number of bytes.
    size_t size;
} KprofText;

/// Number of reads of a periodic reader.
typedef struct KprofPeriodicCounts {
    /// `sizeof(KprofPeriodicCounts)`. Must be set before the struct is passed to the library.
    size_t struct_size;
    /// Number of reads so far, including failed reads.
    uint64_t reads;
    /// Number of failed reads. The next read tries again, so a failed read does not necessarily
    /// lose data.
    uint64_t failed_reads;
} KprofPeriodicCounts;

/// Counts of a recording, as in `kprof report --json`.
typedef struct KprofCounts {
    /// `sizeof(KprofCounts)`. Must be set before the struct is passed to the library.
    size_t struct_size;
    /// Chips that were read.
    uint64_t chips;
    /// Lanes with records.
    uint64_t lanes;
    /// Launches, counted on each lane and added up over all lanes.
    uint64_t runs;
    /// Records of every kind.
    uint64_t records;
    /// Zones, including open zones.
    uint64_t zones;
    /// Open zones: zones whose end is not recorded.
    uint64_t open_zones;
    /// Timestamped data records, of 8 or 16 bytes.
    uint64_t data;
    /// Events.
    uint64_t events;
    /// Totals of sum zones.
    uint64_t sums;
    /// Zone ends without a start.
    uint64_t orphan_ends;
    /// Launches of programs on chips.
    uint64_t ops;
    /// Lost records. A lost zone counts as one record.
    uint64_t lost;
    /// Records lost because L1 was full.
    uint64_t lost_l1_full;
    /// Records lost because DRAM was full.
    uint64_t lost_dram_full;
    /// Records of launches that ran no kernel. The firmware is configured not to write these
    /// records.
    uint64_t lost_validate_off;
    /// Records lost for another cause.
    uint64_t lost_other;
    /// 1 if `lost` is a lower bound, else 0.
    uint64_t lost_is_lower_bound;
    /// Record sources that do not count their losses; 0 means that all losses are counted.
    uint64_t uncounted_sources;
    /// Anomalies that make data lost or doubtful.
    uint64_t anomalies;
    /// Anomalies that were repaired.
    uint64_t repairs;
    /// Launches that have ended, but whose records the cores have not pushed yet.
    uint64_t pending_runs;
    /// Launches whose records the firmware discarded, because no kernel ran.
    uint64_t discarded_launches;
    /// Words read from the chips; 0 for logs.
    uint64_t words_read;
    /// Launches that had not ended when they were read, counted on each lane.
    uint64_t unfinished_runs;
} KprofCounts;

/// A launch of a program on one RISC.
typedef struct KprofRun {
    /// Id of the program, combined with the id of the chip.
    uint32_t run_host_id;
    /// 1 if the launch was part of a trace's replay and the trace is known, else 0.
    uint32_t has_trace;
    /// Id of the trace.
    uint64_t trace_id;
    /// Number of the replay among the replays of the trace, from 1.
    uint64_t trace_replay;
    /// Index of the launch's first record in the lane.
    size_t first_record;
} KprofRun;

/// The records of one RISC, as columns. All arrays and texts belong to the recording.
typedef struct KprofLane {
    /// `sizeof(KprofLane)`. Must be set before the call.
    size_t struct_size;
    /// Number of the chip.
    uint32_t chip_id;
    /// Column of the core on the NoC-0 grid.
    uint16_t core_x;
    /// Row of the core on the NoC-0 grid.
    uint16_t core_y;
    /// Name of the RISC, such as `BRISC`.
    struct KprofText risc;
    /// Number of records.
    size_t record_count;
    /// Kind and zone of each record: `kind << KPROF_HEAD_ZONE_BITS | zone`.
    const uint32_t *heads;
    /// Cycles of each record, on the clock of the chip's reference tile.
    const uint64_t *times;
    /// Values of all records, in record order. The kind of a record determines how many values it
    /// has.
    const uint64_t *data;
    /// Number of values.
    size_t data_count;
    /// Launches. A launch has the index of its first record, and ends before the first record of
    /// the next launch.
    const struct KprofRun *runs;
    /// Number of launches.
    size_t run_count;
} KprofLane;

/// Name and source of a zone.
typedef struct KprofZone {
    /// `sizeof(KprofZone)`. Must be set before the call.
    size_t struct_size;
    /// Marker id of the zone.
    uint32_t id;
    /// Source line; 0 if unknown.
    uint32_t line;
    /// Name; empty if unknown.
    struct KprofText name;
    /// Source file; empty if unknown.
    struct KprofText file;
    /// Number of zone names that share this zone's id. `name` is the first of these names.
    size_t candidate_count;
} KprofZone;

/// One column of a table. All arrays and texts belong to the recording. `kprof schema` shows the
/// tables and the meaning of their columns.
typedef struct KprofColumn {
    /// `sizeof(KprofColumn)`. Must be set before the call.
    size_t struct_size;
    /// Name, ending with the unit if there is one.
    struct KprofText name;
    /// Unit; empty if none.
    struct KprofText unit;
    /// Reason why a value of the column can be unknown; empty if all values are known.
    struct KprofText null_means;
    /// Type of the values.
    uint32_t kind;
    /// Number of rows in the table.
    size_t row_count;
    /// Array with one value per row; an unknown value is 0 or an empty text.
    const void *values;
    /// Array with one flag per row: 1 if the value is known, else 0. Null if all values are known.
    const uint8_t *is_known;
} KprofColumn;

/// Open zones with the same name, in launches that had not ended when they were read.
typedef struct KprofOpenZones {
    /// Name of the zones; empty if unknown.
    struct KprofText name;
    /// Number of RISCs on which it is the innermost open zone.
    uint64_t risc_count;
    /// Earliest start, in cycles of the recording's clock.
    uint64_t first_start_cycle;
} KprofOpenZones;

/// An anomaly or a repair, and its position.
typedef struct KprofAnomaly {
    /// Short description of the kind.
    struct KprofText kind;
    /// Details; may be empty.
    struct KprofText detail;
    /// 1 if the data was repaired, else 0.
    uint32_t is_repair;
    /// 1 if the anomaly belongs to the lane that the next fields identify, else 0.
    uint32_t has_lane;
    /// Number of the chip.
    uint32_t chip_id;
    /// Column of the core.
    uint16_t core_x;
    /// Row of the core.
    uint16_t core_y;
    /// Name of the RISC.
    struct KprofText risc;
    /// Position of the anomaly: the index of a word in the lane, the number of a line in the log,
    /// or the index of a word in the control vector.
    uint64_t position;
} KprofAnomaly;

/// The clock of a chip.
typedef struct KprofClock {
    /// `sizeof(KprofClock)`. Must be set before the call.
    size_t struct_size;
    /// 1 if times can be converted to the host's clock, else 0.
    uint32_t is_host_time;
    /// Nominal frequency in MHz; 0 if unknown.
    uint32_t nominal_mhz;
    /// Frequency in GHz: the measured frequency or, without a measurement, the nominal frequency; 1
    /// if both are unknown.
    double frequency_ghz;
    /// Guaranteed maximum error of times converted to the host's clock, in ns; NaN if
    /// `is_host_time` is 0.
    double bound_ns;
    /// Cycle of the chip's first record.
    uint64_t first_cycle;
    /// Cycle of the chip's last record.
    uint64_t last_cycle;
} KprofClock;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Returns the version of the interface that the library was built with. It must equal
/// `KPROF_ABI_VERSION` of the header.
uint32_t kprof_abi_version(void);

/// Returns the version of the library.
const char *kprof_version(void);

/// Returns a message about the last failed call of this thread; empty if no call has failed.
///
/// The message is valid until another call of the same thread fails, or until the thread ends.
const char *kprof_last_error(void);

/// Creates a mesh of the given chips. The descriptions are copied.
///
/// # Safety
/// `callbacks`, `chips` and everything that they point to must be valid during the call.
///
/// Until the mesh is freed, the callbacks must be callable with their context from every thread
/// that passes the mesh to the library, and from the thread of a periodic reader. The callbacks
/// must read or write no more words than requested, and must return. `mesh` must point to memory
/// for a pointer.
enum KprofStatus kprof_mesh_new(const struct KprofMeshCallbacks *callbacks,
                                const struct KprofChip *chips,
                                size_t chip_count,
                                struct KprofMesh **mesh);

/// Frees a mesh; null is allowed. A mesh in use by a call or a periodic reader is not freed.
///
/// # Safety
/// `mesh` must be null or come from `kprof_mesh_new`, and must not be used again.
enum KprofStatus kprof_mesh_free(struct KprofMesh *mesh);

/// Prepares every chip of a mesh. Call this function before the first kernel is launched.
///
/// # Safety
/// `mesh` must be null or a mesh that is not freed, `options` null or valid.
enum KprofStatus kprof_init_device_profiler(struct KprofMesh *mesh,
                                            const struct KprofInitOptions *options);

/// Begins a session. Unless `capture` is null, all data that is read is also written to a new
/// capture with this path.
///
/// # Safety
/// `options` must be null or valid, `capture` null or a text, and `session` must point to memory
/// for a pointer.
enum KprofStatus kprof_session_new(const struct KprofReadOptions *options,
                                   const char *capture,
                                   struct KprofSession **session);

/// Frees a session; null is allowed. A session in use by a call or a periodic reader is not freed.
///
/// If the session was not finished, the end mark is missing in the session's capture. Programs that
/// read the capture report that the mark is missing.
///
/// # Safety
/// `session` must be null or come from `kprof_session_new`, and must not be used again.
enum KprofStatus kprof_session_free(struct KprofSession *session);

/// Adds the name and source location of a zone, as the text `name,file,line,KERNEL_PROFILER`.
///
/// # Safety
/// `session` must be null or a session that is not freed, `zone_text` null or a text.
enum KprofStatus kprof_session_add_zone_text(struct KprofSession *session,
                                             const char *zone_text);

/// Adds the names of the zones in a kernel's ELF file.
///
/// # Safety
/// `session` must be null or a session that is not freed, `elf` null or a text.
enum KprofStatus kprof_session_add_elf(struct KprofSession *session, const char *elf);

/// Adds the names of the zones in the `zone_src_locations.log` files of a folder.
///
/// # Safety
/// `session` must be null or a session that is not freed, `folder` null or a text.
enum KprofStatus kprof_session_add_zone_logs(struct KprofSession *session, const char *folder);

/// Sets the name of a program on a chip; `run_host_id` is encoded with the chip: `base << 10 |
/// chip`.
///
/// # Safety
/// `session` must be null or a session that is not freed, `name` null or a text.
enum KprofStatus kprof_session_add_op(struct KprofSession *session,
                                      uint32_t chip_id,
                                      uint32_t run_host_id,
                                      const char *name);

/// Measures the clocks of an initialised mesh. Call this function before the first read.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
enum KprofStatus kprof_session_open_clocks(struct KprofSession *session,
                                           struct KprofMesh *mesh);

/// Measures the clocks again. Call this function after the last read.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
enum KprofStatus kprof_session_close_clocks(struct KprofSession *session,
                                            struct KprofMesh *mesh);

/// Reads everything that the mesh has recorded since the last read of the session.
///
/// `is_last_read` is 1 if no further launch follows, else 0. The last read also returns the records
/// that cores keep in L1 until the next launch.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
enum KprofStatus kprof_session_read(struct KprofSession *session,
                                    struct KprofMesh *mesh,
                                    uint32_t is_last_read);

/// Checks whether the mesh must be read now so that no markers are lost in the next `launches`
/// launches. `is_about_to` receives 1 if markers may be lost without a read, else 0.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed, and `is_about_to` must point to
/// memory for a number.
enum KprofStatus kprof_session_about_to_overflow(struct KprofSession *session,
                                                 struct KprofMesh *mesh,
                                                 uint32_t launches,
                                                 uint32_t *is_about_to);

/// Ends a session. Writes the end mark of its capture, and sets `recording` to a new recording with
/// all data that was read.
///
/// Afterwards, the session can only be freed.
///
/// # Safety
/// `session` must be null or a session that is not freed, and `recording` must point to memory for
/// a pointer.
enum KprofStatus kprof_session_finish(struct KprofSession *session,
                                      struct KprofRecording **recording);

/// Reads all records and the clocks of a mesh in one call.
///
/// # Safety
/// `mesh` must be null or a mesh that is not freed, `options` null or valid, and `recording` must
/// point to memory for a pointer.
enum KprofStatus kprof_read_device_profiler(struct KprofMesh *mesh,
                                            const struct KprofReadOptions *options,
                                            struct KprofRecording **recording);

/// Makes a session keep performance figures of programs, from the next read on.
///
/// TT-Metal keeps these figures if `TT_METAL_PROFILER_MID_RUN_DUMP` and
/// `TT_METAL_PROFILER_CPP_POST_PROCESS` are set.
///
/// # Safety
/// `session` must be null or a session that is not freed.
enum KprofStatus kprof_session_keep_programs(struct KprofSession *session);

/// Writes performance figures of programs to `json`, as a JSON text: an object that maps chip
/// numbers to lists of programs.
///
/// The figures cover the programs in all reads if `is_of_all` is not 0, else the programs in the
/// latest read.
///
/// The text belongs to the session. It is valid until the next call of this function or until the
/// session is freed.
///
/// # Safety
/// `session` must be null or a session that is not freed, and `json` must point to memory for a
/// text.
enum KprofStatus kprof_session_programs_json(struct KprofSession *session,
                                             uint32_t is_of_all,
                                             struct KprofText *json);

/// Starts a thread of the library that reads every `period_ns` until `kprof_periodic_stop`. The
/// first read begins at once.
///
/// Until the thread stops, no other thread may use the session or the mesh. Other calls with the
/// session or the mesh, even `kprof_session_free` and `kprof_mesh_free`, return
/// `KPROF_STATUS_BUSY`. The thread calls the callbacks of the mesh, one at a time, while the host's
/// own threads launch programs. After a read that takes longer than the period, the next read
/// begins at once.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed, and `reader` must point to
/// memory for a pointer.
enum KprofStatus kprof_periodic_start(struct KprofSession *session,
                                      struct KprofMesh *mesh,
                                      uint64_t period_ns,
                                      struct KprofPeriodicReader **reader);

/// Writes the number of reads so far to `counts`.
///
/// # Safety
/// `reader` must be null or a reader that is not stopped, and `counts` must point to a struct whose
/// size is set.
enum KprofStatus kprof_periodic_counts(const struct KprofPeriodicReader *reader,
                                       struct KprofPeriodicCounts *counts);

/// Stops the reader after a final read, releases the session and the mesh, and frees the reader.
/// `reader` may be null.
///
/// The call waits for the read in progress. The caller must not launch programs after the call. If
/// `counts` is not null, the numbers of reads are written to it. The returned status is the status
/// of the final read. The final read also returns the data that earlier failed reads have missed.
///
/// # Safety
/// `reader` must be null or come from `kprof_periodic_start`, and must not be used again; `counts`
/// must be null or point to a struct whose size is set.
enum KprofStatus kprof_periodic_stop(struct KprofPeriodicReader *reader,
                                     struct KprofPeriodicCounts *counts);

/// Loads a capture, a device log or a folder of logs. `run` is the index of a run in a capture,
/// from 0.
///
/// # Safety
/// `file` must be null or a text, and `recording` must point to memory for a pointer.
enum KprofStatus kprof_load(const char *file, size_t run, struct KprofRecording **recording);

/// Frees a recording with all its texts and columns; null is allowed.
///
/// # Safety
/// `recording` must be null or come from this library. Neither the recording nor anything that
/// belongs to it may be used again.
enum KprofStatus kprof_recording_free(struct KprofRecording *recording);

/// Writes the counts of a recording to `counts`.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `counts` must point to a struct
/// whose size is set.
enum KprofStatus kprof_recording_counts(const struct KprofRecording *recording,
                                        struct KprofCounts *counts);

/// Writes the lane with this index to `lane`. Lanes are sorted by chip, core and RISC. `index` must
/// be less than `KprofCounts.lanes`.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `lane` must point to a struct
/// whose size is set.
enum KprofStatus kprof_recording_lane(const struct KprofRecording *recording,
                                      size_t index,
                                      struct KprofLane *lane);

/// Writes the name and source location of a zone to `zone`. The zone is identified by its number in
/// the heads of records.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `zone` must point to a struct
/// whose size is set.
enum KprofStatus kprof_recording_zone(const struct KprofRecording *recording,
                                      uint32_t number,
                                      struct KprofZone *zone);

/// Writes a column of a table to `column`. `index` is the index of the column, from 0. Tables:
/// `ops`, `zone_statistics`, `sum_statistics`, `wait_statistics`, `losses`.
///
/// Returns `KPROF_STATUS_NOT_AVAILABLE` after the last column.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `table` must be null or a text, and
/// `column` must point to a struct whose size is set.
enum KprofStatus kprof_recording_column_at(const struct KprofRecording *recording,
                                           const char *table,
                                           size_t index,
                                           struct KprofColumn *column);

/// Writes the column with the given name to `column`, for example the column `kernel_ns` of the
/// table `ops`.
///
/// # Safety
/// As for `kprof_recording_column_at`. In addition, `name` must be null or a text.
enum KprofStatus kprof_recording_column(const struct KprofRecording *recording,
                                        const char *table,
                                        const char *name,
                                        struct KprofColumn *column);

/// Sets `rows` to an array of messages, one for each record source that does not count its losses.
/// Sets `count` to the number of messages.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
enum KprofStatus kprof_recording_uncounted(const struct KprofRecording *recording,
                                           const struct KprofText **rows,
                                           size_t *count);

/// Sets `rows` to an array of the open zones of launches that had not ended when they were read, and
/// `count` to its length.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
enum KprofStatus kprof_recording_open_zones(const struct KprofRecording *recording,
                                            const struct KprofOpenZones **rows,
                                            size_t *count);

/// Sets `rows` to an array of those anomalies and repairs whose position is known, and `count` to
/// its length. For each lane, at most 8 anomalies of each kind are kept.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
enum KprofStatus kprof_recording_anomalies(const struct KprofRecording *recording,
                                           const struct KprofAnomaly **rows,
                                           size_t *count);

/// Writes the clock of a chip to `clock`. The chip must be part of the recording.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `clock` must point to a struct
/// whose size is set.
enum KprofStatus kprof_recording_clock(const struct KprofRecording *recording,
                                       uint32_t chip_id,
                                       struct KprofClock *clock);

/// Converts cycles of a chip to nanoseconds of the host's clock. Unless `bound_ns` is null, it
/// receives the maximum error of these times.
///
/// # Safety
/// `recording` must be null or a recording that is not freed; `cycles` and `host_ns` must point to
/// `count` numbers each that do not overlap, and `bound_ns` must be null or point to memory for a
/// number.
enum KprofStatus kprof_recording_host_ns(const struct KprofRecording *recording,
                                         uint32_t chip_id,
                                         const uint64_t *cycles,
                                         int64_t *host_ns,
                                         size_t count,
                                         double *bound_ns);

/// Writes a JSON text with the causes of slowness to `json`. `kprof explain --json` prints the same
/// text. The text belongs to the recording.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `json` must point to memory for a
/// text.
enum KprofStatus kprof_recording_explain_json(const struct KprofRecording *recording,
                                              struct KprofText *json);

/// Returns the name of the output with this index, from 0. Returns null if the index is too large.
const char *kprof_output_name(size_t index);

/// Writes a file, or a folder for `noc-traces` and `parquet`. The output appears only when
/// complete.
///
/// `output` is one of the names that `kprof_output_name` returns, such as `perfetto`, `html`,
/// `device-log` or `ops`. `filter` takes the terms of `kprof export --filter`, such as
/// `op=Matmul*,risc=ncrisc`; null selects everything.
///
/// # Safety
/// `recording` must be null or a recording that is not freed. `output`, `filter` and `file` must be
/// texts or null.
enum KprofStatus kprof_recording_write(const struct KprofRecording *recording,
                                       const char *output,
                                       const char *filter,
                                       const char *file);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KPROF_H */
