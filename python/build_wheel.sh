#!/usr/bin/env bash
# Builds the wheel, with the program and the simulated chip in it: python/build_wheel.sh MATURIN OUT
# [options of maturin]. Needs nothing but cargo and maturin.
#
# With KPROF_WHEEL_OF_WORKSPACE=1, libraries have the features of the whole workspace, with which the
# gate has built them already, and the native module is not optimised. `.ci/full` tries the wheel without it.
set -euo pipefail
cd "$(dirname "$0")/.."
maturin=$1
out=$2
shift 2

target=${CARGO_TARGET_DIR:-target}
# Both at once, so that they share what is built.
packages=(-p kprof-pci-chip -p kprof)
profile=(--release)
if [ "${KPROF_WHEEL_OF_WORKSPACE:-0}" = 1 ]; then
    packages=(--workspace)
    profile=()
fi
cargo build --release --locked "${packages[@]}" --lib --bin kprof --features kprof/parquet,kprof/mcp
mkdir -p python/kprof.data/scripts
cp "$target/release/kprof" python/kprof.data/scripts/kprof
cp "$target/release/libkprof_chip.so" python/kprof/libkprof_chip.so
"$maturin" build "${profile[@]}" --manifest-path python/Cargo.toml --target-dir "$target" --locked -q --out "$out" "$@"
