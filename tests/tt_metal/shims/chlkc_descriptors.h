// The file that tt-metal's JIT generates for each kernel: formats and tiles of circular buffers.
// Here every buffer holds bfloat16 tiles of 32 x 32.

#pragma once
#include <cstdint>

#define KPROF_SAME_8(value) value, value, value, value, value, value, value, value
#define KPROF_SAME_64(value) \
    KPROF_SAME_8(value), KPROF_SAME_8(value), KPROF_SAME_8(value), KPROF_SAME_8(value), \
        KPROF_SAME_8(value), KPROF_SAME_8(value), KPROF_SAME_8(value), KPROF_SAME_8(value)

constexpr std::int32_t unpack_src_format[64] = {KPROF_SAME_64(5)};
constexpr std::int32_t unpack_dst_format[64] = {KPROF_SAME_64(5)};
constexpr std::uint8_t unpack_tile_num_faces[64] = {KPROF_SAME_64(4)};
constexpr std::uint8_t unpack_partial_face[64] = {KPROF_SAME_64(0)};
constexpr std::uint8_t unpack_tile_face_r_dim[64] = {KPROF_SAME_64(16)};
constexpr std::uint8_t unpack_narrow_tile[64] = {KPROF_SAME_64(0)};
constexpr std::uint8_t unpack_tile_r_dim[64] = {KPROF_SAME_64(32)};
constexpr std::uint8_t unpack_tile_c_dim[64] = {KPROF_SAME_64(32)};
constexpr std::uint16_t unpack_tile_size[64] = {KPROF_SAME_64(2048)};
constexpr std::uint8_t unpack_num_faces_r_dim[64] = {KPROF_SAME_64(2)};
constexpr std::uint8_t unpack_num_faces_c_dim[64] = {KPROF_SAME_64(2)};
constexpr unsigned char pack_src_format[64] = {KPROF_SAME_64(5)};
constexpr unsigned char pack_dst_format[64] = {KPROF_SAME_64(5)};
constexpr std::uint8_t pack_tile_num_faces[64] = {KPROF_SAME_64(4)};
constexpr std::uint8_t pack_partial_face[64] = {KPROF_SAME_64(0)};
constexpr std::uint8_t pack_tile_face_r_dim[64] = {KPROF_SAME_64(16)};
constexpr std::uint8_t pack_narrow_tile[64] = {KPROF_SAME_64(0)};
constexpr std::uint8_t pack_tile_r_dim[64] = {KPROF_SAME_64(32)};
constexpr std::uint8_t pack_tile_c_dim[64] = {KPROF_SAME_64(32)};
constexpr std::uint16_t pack_tile_size[64] = {KPROF_SAME_64(2048)};
constexpr std::uint8_t pack_num_faces_r_dim[64] = {KPROF_SAME_64(2)};
constexpr std::uint8_t pack_num_faces_c_dim[64] = {KPROF_SAME_64(2)};

#ifndef DST_ACCUM_MODE
#define DST_ACCUM_MODE false
#endif
#define DST_SYNC_MODE DstSync::SyncHalf
#define DST_SYNC_FULL false
#define APPROX false
#define MATH_FIDELITY 0
