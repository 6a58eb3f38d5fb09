/* Invalid calls of the C interface. Each call must return its error and do no damage. */
#include <stdio.h>
#include <string.h>

#include "kprof.h"

static int failures = 0;

static void expect(int line, KprofStatus found, KprofStatus expected, const char *text) {
    if (found != expected || strstr(kprof_last_error(), text) == NULL) {
        fprintf(stderr, "line %d: status %d: %s\n", line, (int)found, kprof_last_error());
        failures += 1;
    }
}

#define EXPECT(call, status, text) expect(__LINE__, (call), (status), (text))

/* L1 of the only core. The control vector begins at address 0. */
static uint32_t memory[4096];
static KprofMesh *mesh_in_call;
static int is_entered;

static int32_t read_l1(void *context, uint32_t chip, uint16_t x, uint16_t y, uint64_t address,
                       uint32_t *words, size_t word_count) {
    (void)context, (void)chip, (void)x, (void)y;
    if (mesh_in_call != NULL && !is_entered) {
        is_entered = 1;
        EXPECT(kprof_init_device_profiler(mesh_in_call, NULL), KPROF_STATUS_BUSY, "another call");
        EXPECT(kprof_mesh_free(mesh_in_call), KPROF_STATUS_BUSY, "another call");
    }
    if (address / 4 + word_count > 4096) {
        return KPROF_ACCESS_OUT_OF_RANGE;
    }
    memcpy(words, &memory[address / 4], word_count * 4);
    return KPROF_ACCESS_OK;
}

static int32_t write_l1(void *context, uint32_t chip, uint16_t x, uint16_t y, uint64_t address,
                        const uint32_t *words, size_t word_count) {
    (void)context, (void)chip, (void)x, (void)y;
    if (address / 4 + word_count > 4096) {
        return KPROF_ACCESS_OUT_OF_RANGE;
    }
    memcpy(&memory[address / 4], words, word_count * 4);
    return KPROF_ACCESS_OK;
}

static int32_t refuse_dram(void *context, uint32_t chip, uint32_t bank, uint64_t address,
                           uint32_t *words, size_t word_count) {
    (void)context, (void)chip, (void)bank, (void)address, (void)words, (void)word_count;
    return -7;
}

static int32_t read_clock(void *context, uint32_t chip, uint16_t x, uint16_t y, uint64_t *cycles) {
    (void)context, (void)chip, (void)x, (void)y;
    *cycles = 12345;
    return KPROF_ACCESS_OK;
}

static void check_mesh(void) {
    KprofMeshCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    KprofCore core = {1, 1, 0, 0, KPROF_CORE_TENSIX, 0, 0, 256};
    KprofChip chip = {0, 1000, "wormhole_b0", &core, 1, 1, 1, 64, 240000};
    KprofMesh *mesh = NULL;
    EXPECT(kprof_mesh_new(NULL, &chip, 1, &mesh), KPROF_STATUS_INVALID_ARGUMENT, "`callbacks`");
    callbacks.struct_size = sizeof callbacks - 8;
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_WRONG_SIZE, "struct_size");
    callbacks.struct_size = sizeof callbacks;
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_INVALID_ARGUMENT, "read_l1");
    callbacks.read_l1 = read_l1;
    callbacks.write_l1 = write_l1;
    callbacks.read_dram = refuse_dram;
    callbacks.read_wall_clock = read_clock;
    EXPECT(kprof_mesh_new(&callbacks, NULL, 1, &mesh), KPROF_STATUS_INVALID_ARGUMENT, "`chips`");
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, NULL), KPROF_STATUS_INVALID_ARGUMENT, "`mesh`");
    EXPECT(kprof_mesh_new(&callbacks, &chip, (size_t)-1, &mesh), KPROF_STATUS_WRONG_SIZE,
           "memory can hold");
    core.kind = 3;
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_INVALID_ARGUMENT,
           "kind of core from 0 to 2");
    core.kind = KPROF_CORE_TENSIX;
    KprofChip twins[2] = {chip, chip};
    EXPECT(kprof_mesh_new(&callbacks, twins, 2, &mesh), KPROF_STATUS_INVALID_ARGUMENT, "twice");
    chip.arch = "wormhole\xff";
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_INVALID_ARGUMENT, "UTF-8");
    chip.arch = "wormhole_b0";

    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_OK, "");
    KprofInitOptions options = {sizeof options, 2000, 0};
    EXPECT(kprof_init_device_profiler(mesh, &options), KPROF_STATUS_INIT_FAILED,
           "the largest count that fits is 1000");
    options.struct_size = 4;
    EXPECT(kprof_init_device_profiler(mesh, &options), KPROF_STATUS_WRONG_SIZE, "16");
    mesh_in_call = mesh;
    EXPECT(kprof_init_device_profiler(mesh, NULL), KPROF_STATUS_OK, "");
    mesh_in_call = NULL;
    if (!is_entered) {
        fprintf(stderr, "no callback was called\n");
        failures += 1;
    }
    /* By the control vector, a lane in DRAM has twelve words. The lane cannot be read: this is a
     * loss, not a failure. */
    memory[0] = 12;
    KprofRecording *recording = NULL;
    EXPECT(kprof_read_device_profiler(mesh, NULL, &recording), KPROF_STATUS_OK, "");
    KprofCounts counts;
    counts.struct_size = sizeof counts;
    EXPECT(kprof_recording_counts(recording, &counts), KPROF_STATUS_OK, "");
    KprofText causes;
    EXPECT(kprof_recording_explain_json(recording, &causes), KPROF_STATUS_OK, "");
    if (causes.size == 0 || causes.bytes[0] != '{' || causes.bytes[causes.size - 1] != '}') {
        fprintf(stderr, "no JSON of causes\n");
        failures += 1;
    }
    EXPECT(kprof_recording_explain_json(NULL, &causes), KPROF_STATUS_INVALID_ARGUMENT,
           "`recording`");
    EXPECT(kprof_recording_explain_json(recording, NULL), KPROF_STATUS_INVALID_ARGUMENT,
           "`json`");
    const KprofAnomaly *anomalies = NULL;
    size_t count = 0;
    EXPECT(kprof_recording_anomalies(recording, &anomalies, &count), KPROF_STATUS_OK, "");
    if (counts.records != 0 || counts.lost == 0 || count == 0) {
        fprintf(stderr, "%d records, %d lost, %d anomalies\n", (int)counts.records,
                (int)counts.lost, (int)count);
        failures += 1;
    }
    KprofLane lane;
    lane.struct_size = sizeof lane;
    EXPECT(kprof_recording_lane(recording, 99, &lane), KPROF_STATUS_NOT_AVAILABLE, "found 99");
    lane.struct_size = 1;
    EXPECT(kprof_recording_lane(recording, 0, &lane), KPROF_STATUS_WRONG_SIZE, "KprofLane");
    EXPECT(kprof_recording_lane(recording, 0, NULL), KPROF_STATUS_INVALID_ARGUMENT, "`lane`");
    KprofZone zone;
    zone.struct_size = sizeof zone;
    EXPECT(kprof_recording_zone(recording, 1U << 30, &zone), KPROF_STATUS_INVALID_ARGUMENT, "");
    EXPECT(kprof_recording_zone(recording, 7, &zone), KPROF_STATUS_OK, "");
    if (zone.id != 7 || zone.name.size != 0 || zone.candidate_count != 0) {
        fprintf(stderr, "zone 7 has a name\n");
        failures += 1;
    }
    int64_t host_ns = 0;
    const uint64_t cycles = 5;
    EXPECT(kprof_recording_host_ns(recording, 9, &cycles, &host_ns, 1, NULL),
           KPROF_STATUS_NOT_AVAILABLE, "chip 9");
    EXPECT(kprof_recording_host_ns(recording, 0, NULL, &host_ns, 1, NULL),
           KPROF_STATUS_INVALID_ARGUMENT, "`cycles`");
    EXPECT(kprof_recording_write(recording, "csv", NULL, "x"), KPROF_STATUS_INVALID_ARGUMENT,
           "there is no output `csv`");
    EXPECT(kprof_recording_write(recording, "html", "op", "x"), KPROF_STATUS_INVALID_ARGUMENT, "");
    EXPECT(kprof_recording_write(recording, "html", NULL, ""), KPROF_STATUS_INVALID_ARGUMENT,
           "empty");
    EXPECT(kprof_recording_write(recording, "html", NULL, "/nowhere/x"), KPROF_STATUS_WRITE_FAILED,
           "/nowhere/x");
    EXPECT(kprof_recording_free(recording), KPROF_STATUS_OK, "");
    EXPECT(kprof_mesh_free(mesh), KPROF_STATUS_OK, "");
}

static void check_session(void) {
    KprofSession *session = NULL;
    KprofRecording *recording = NULL;
    KprofReadOptions options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.program_support_count = 1000;
    options.generation = 9;
    EXPECT(kprof_session_new(&options, NULL, &session), KPROF_STATUS_INVALID_ARGUMENT,
           "generation from 0 to 2, found 9");
    options.generation = 0;
    EXPECT(kprof_session_new(&options, "/nowhere/x.kprof", &session), KPROF_STATUS_CAPTURE_FAILED,
           "/nowhere/x.kprof");
    EXPECT(kprof_session_new(&options, NULL, &session), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_read(session, NULL, 0), KPROF_STATUS_INVALID_ARGUMENT, "`mesh`");
    EXPECT(kprof_session_add_zone_text(session, "no zone"), KPROF_STATUS_INVALID_ARGUMENT,
           "KERNEL_PROFILER");
    EXPECT(kprof_session_add_zone_text(session, NULL), KPROF_STATUS_INVALID_ARGUMENT, "null");
    EXPECT(kprof_session_add_elf(session, "/nowhere/x.elf"), KPROF_STATUS_LOAD_FAILED, "nowhere");
    EXPECT(kprof_session_finish(session, &recording), KPROF_STATUS_OK, "");
    EXPECT(kprof_recording_free(recording), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_finish(session, &recording), KPROF_STATUS_INVALID_ARGUMENT, "finished");
    KprofText json;
    EXPECT(kprof_session_programs_json(NULL, 0, &json), KPROF_STATUS_INVALID_ARGUMENT, "`session`");
    EXPECT(kprof_session_programs_json(session, 0, NULL), KPROF_STATUS_INVALID_ARGUMENT, "`json`");
    EXPECT(kprof_session_programs_json(session, 0, &json), KPROF_STATUS_INVALID_ARGUMENT,
           "kprof_session_keep_programs");
    EXPECT(kprof_session_keep_programs(NULL), KPROF_STATUS_INVALID_ARGUMENT, "`session`");
    EXPECT(kprof_session_keep_programs(session), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_programs_json(session, 1, &json), KPROF_STATUS_OK, "");
    const int is_empty = json.size == 2 && memcmp(json.bytes, "{}", 2) == 0;
    EXPECT(is_empty ? KPROF_STATUS_OK : KPROF_STATUS_PANIC, KPROF_STATUS_OK, "");
    EXPECT(kprof_session_free(session), KPROF_STATUS_OK, "");
    EXPECT(kprof_load("/nowhere/log.csv", 0, &recording), KPROF_STATUS_LOAD_FAILED, "nowhere");
    EXPECT(kprof_load(NULL, 0, &recording), KPROF_STATUS_INVALID_ARGUMENT, "`file`");
    EXPECT(kprof_mesh_free(NULL), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_free(NULL), KPROF_STATUS_OK, "");
    EXPECT(kprof_recording_free(NULL), KPROF_STATUS_OK, "");
}

/* While a periodic reader uses handles, other calls with them return an error and free nothing. */
static void check_periodic(void) {
    KprofMeshCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read_l1 = read_l1;
    callbacks.write_l1 = write_l1;
    callbacks.read_dram = refuse_dram;
    callbacks.read_wall_clock = read_clock;
    KprofCore core = {1, 1, 0, 0, KPROF_CORE_TENSIX, 0, 0, 256};
    KprofChip chip = {0, 1000, "wormhole_b0", &core, 1, 1, 1, 64, 240000};
    KprofMesh *mesh = NULL;
    KprofSession *session = NULL;
    KprofPeriodicReader *reader = NULL, *second = NULL;
    KprofRecording *recording = NULL;
    memset(memory, 0, sizeof memory);
    EXPECT(kprof_mesh_new(&callbacks, &chip, 1, &mesh), KPROF_STATUS_OK, "");
    EXPECT(kprof_init_device_profiler(mesh, NULL), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_new(NULL, NULL, &session), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_start(NULL, mesh, 1000, &reader), KPROF_STATUS_INVALID_ARGUMENT,
           "`session`");
    EXPECT(kprof_periodic_start(session, NULL, 1000, &reader), KPROF_STATUS_INVALID_ARGUMENT,
           "`mesh`");
    EXPECT(kprof_periodic_start(session, mesh, 1000, NULL), KPROF_STATUS_INVALID_ARGUMENT,
           "`reader`");
    EXPECT(kprof_periodic_start(session, mesh, 1000, &reader), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_start(session, mesh, 1000, &second), KPROF_STATUS_BUSY, "periodic");
    EXPECT(kprof_session_read(session, mesh, 1), KPROF_STATUS_BUSY, "periodic");
    EXPECT(kprof_session_finish(session, &recording), KPROF_STATUS_BUSY, "periodic");
    EXPECT(kprof_init_device_profiler(mesh, NULL), KPROF_STATUS_BUSY, "periodic");
    EXPECT(kprof_mesh_free(mesh), KPROF_STATUS_BUSY, "periodic");
    EXPECT(kprof_session_free(session), KPROF_STATUS_BUSY, "periodic");
    KprofSession *other = NULL;
    EXPECT(kprof_session_new(NULL, NULL, &other), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_start(other, mesh, 1000, &second), KPROF_STATUS_BUSY, "periodic");
    KprofPeriodicCounts counts;
    counts.struct_size = 3;
    EXPECT(kprof_periodic_counts(reader, &counts), KPROF_STATUS_WRONG_SIZE, "PeriodicCounts");
    EXPECT(kprof_periodic_stop(reader, &counts), KPROF_STATUS_WRONG_SIZE, "PeriodicCounts");
    counts.struct_size = sizeof counts;
    do {
        EXPECT(kprof_periodic_counts(reader, &counts), KPROF_STATUS_OK, "");
    } while (counts.reads < 2);
    EXPECT(kprof_periodic_stop(reader, &counts), KPROF_STATUS_OK, "");
    if (counts.reads < 3 || counts.failed_reads != 0) {
        fprintf(stderr, "%d reads, %d failed\n", (int)counts.reads, (int)counts.failed_reads);
        failures += 1;
    }
    EXPECT(kprof_session_read(session, mesh, 1), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_finish(session, &recording), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_start(session, mesh, 0, &reader), KPROF_STATUS_INVALID_ARGUMENT,
           "finished");
    EXPECT(kprof_periodic_start(other, mesh, 0, &reader), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_stop(reader, NULL), KPROF_STATUS_OK, "");
    EXPECT(kprof_periodic_stop(NULL, NULL), KPROF_STATUS_OK, "");
    EXPECT(kprof_recording_free(recording), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_free(session), KPROF_STATUS_OK, "");
    EXPECT(kprof_session_free(other), KPROF_STATUS_OK, "");
    EXPECT(kprof_mesh_free(mesh), KPROF_STATUS_OK, "");
}

int main(void) {
    check_mesh();
    check_periodic();
    check_session();
    return failures == 0 ? 0 : 1;
}
