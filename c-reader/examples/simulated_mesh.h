/* C interface of the simulator. Tests in C and C++ read simulated chips through it. */
#ifndef SIMULATED_MESH_H
#define SIMULATED_MESH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Simulated chips with a workload that has not run yet. */
typedef struct SimulatedMesh SimulatedMesh;

typedef struct SimulatedChip {
    uint32_t chip_id;
    uint32_t aiclk_mhz;
    uint32_t max_compute_cores;
    uint32_t bank_count;
    uint64_t region_address;
    uint64_t region_bytes;
    size_t core_count;
    char arch[32];
} SimulatedChip;

typedef struct SimulatedCore {
    uint16_t noc0_x, noc0_y, logical_x, logical_y;
    uint32_t kind; /* 0 Tensix, 1 active Ethernet, 2 idle Ethernet */
    uint32_t flat_id;
    uint64_t control_address;
    uint64_t vector_address;
} SimulatedCore;

/* Creates simulated chips for a workload of its usual size. The kernels run on a grid of worker
 * cores, such as "8x2" for 8 columns and 2 rows. Returns null if the workload or the architecture
 * is unknown, or if the chips have no such grid. */
SimulatedMesh *simulated_mesh_new(const char *workload, const char *arch, uint32_t chips,
                                  uint64_t seed, const char *grid);
void simulated_mesh_free(SimulatedMesh *mesh);

uint32_t simulated_mesh_support_count(const SimulatedMesh *mesh);
size_t simulated_mesh_phase_count(const SimulatedMesh *mesh);
void simulated_mesh_run_phase(SimulatedMesh *mesh, size_t phase);
/* begin_phase submits the launches of a phase. Each call of run_for simulates a span of time, and
 * returns 0 once all launches have ended. */
void simulated_mesh_begin_phase(SimulatedMesh *mesh, size_t phase);
int32_t simulated_mesh_run_for(SimulatedMesh *mesh, uint64_t duration_ns);
/* Returns the text of a zone, valid until the next call; null after the last zone. */
const char *simulated_mesh_zone_text(SimulatedMesh *mesh, size_t index);

size_t simulated_mesh_chip_count(const SimulatedMesh *mesh);
void simulated_mesh_chip(SimulatedMesh *mesh, size_t chip, SimulatedChip *out);
void simulated_mesh_core(SimulatedMesh *mesh, size_t chip, size_t core, SimulatedCore *out);

/* Accesses return 0, or 3 with a message in simulated_mesh_error. */
int32_t simulated_mesh_read_l1(SimulatedMesh *mesh, uint32_t chip, uint16_t x, uint16_t y,
                               uint64_t address, uint32_t *words, size_t word_count);
int32_t simulated_mesh_write_l1(SimulatedMesh *mesh, uint32_t chip, uint16_t x, uint16_t y,
                                uint64_t address, const uint32_t *words, size_t word_count);
int32_t simulated_mesh_read_dram(SimulatedMesh *mesh, uint32_t chip, uint32_t bank,
                                 uint64_t address, uint32_t *words, size_t word_count);
int32_t simulated_mesh_read_wall_clock(SimulatedMesh *mesh, uint32_t chip, uint16_t x, uint16_t y,
                                       uint64_t *cycles);
uint64_t simulated_mesh_host_time_ns(SimulatedMesh *mesh);
void simulated_mesh_wait_ns(SimulatedMesh *mesh, uint64_t duration_ns);
const char *simulated_mesh_error(const SimulatedMesh *mesh);

#ifdef __cplusplus
}
#endif

#endif
