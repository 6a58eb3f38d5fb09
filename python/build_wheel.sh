#!/usr/bin/env bash
# Builds the wheel, with the program and the simulated chip in it: python/build_wheel.sh MATURIN OUT
# [options of maturin]. Needs nothing but cargo and maturin.
#
# With KPROF_WHEEL_OF_DEBUG=1, the program and the chip are those that lie in the folder of debug
# builds, where the gate has built them. `.ci/full` tries the wheel without it.
set -euo pipefail
cd "$(dirname "$0")/.."
maturin=$1
out=$2
shift 2

target=${CARGO_TARGET_DIR:-target}
if [ "${KPROF_WHEEL_OF_DEBUG:-0}" = 1 ]; then
    built=$target/debug
else
    built=$target/release
    # Both at once, so that they share what is built.
    cargo build --release --locked -p kprof-pci-chip -p kprof --lib --bin kprof --features kprof/parquet,kprof/mcp
fi
mkdir -p python/kprof.data/scripts
cp "$built/kprof" python/kprof.data/scripts/kprof
cp "$built/libkprof_chip.so" python/kprof/libkprof_chip.so
"$maturin" build --manifest-path python/Cargo.toml --target-dir "$target" --locked -q --out "$out" "$@"
