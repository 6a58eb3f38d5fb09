//! A program with Tracy's own client, which also measures its zones itself and writes them to a
//! file.
//!
//! `tracy-load ZONES THREADS ACCOUNT [WAIT_S]` records zones, messages, plots, frames and the zones
//! of a device. It measures each zone twice with the monotonic clock: once just inside the zone and
//! once just around it. The length that Tracy records is between the two. The file `ACCOUNT` has
//! one line for each zone: thread, depth, the two lengths in nanoseconds, and the text.
//!
//! With `WAIT_S`, the program then opens a zone and waits this number of seconds before it ends.
//! `TRACY_LOAD_OPS` lists ids of ops. The program announces these ops in the same way as TT-Metal's
//! host.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};
use tracy_client::{Client, GpuContextType, frame_name, plot_name, span_location};

/// Measured lengths of one zone.
struct Measured {
    depth: u16,
    inside_ns: u128,
    around_ns: u128,
    text: Option<String>,
}

fn spin(rounds: u64) {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}

/// Records one zone that contains `deeper` further zones, each inside the previous one.
fn zone(client: &Client, index: u64, depth: u16, deeper: u16, account: &mut Vec<Measured>) {
    let text = index.is_multiple_of(100).then(|| format!("zone {index} at depth {depth}"));
    let slot = account.len();
    account.push(Measured { depth, inside_ns: 0, around_ns: 0, text: text.clone() });
    let before = Instant::now();
    let span = if depth == 0 {
        client.clone().span(span_location!("Outer"), 0)
    } else {
        client.clone().span_alloc(Some("Inner"), "work", "tracy-load.rs", 7, 0)
    };
    let begun = Instant::now();
    if let Some(text) = &text {
        span.emit_text(text);
    }
    spin(index % 50);
    if deeper > 0 {
        zone(client, index, depth + 1, deeper - 1, account);
    }
    let inside_ns = begun.elapsed().as_nanos();
    drop(span);
    let around_ns = before.elapsed().as_nanos();
    account[slot].inside_ns = inside_ns;
    account[slot].around_ns = around_ns;
}

fn thread(client: &Client, number: u64, zones: u64) -> Vec<Measured> {
    client.set_thread_name(&format!("load {number}"));
    let mut account = Vec::new();
    for index in 0..zones / 2 {
        zone(client, index, 0, 1, &mut account);
        if index % 1000 == 0 {
            client.message(&format!("thread {number} at {index}"), 0);
            client.plot(plot_name!("progress"), index as f64);
        }
    }
    account
}

fn device(client: &Client) {
    let context = client.clone().new_gpu_context(Some("chip 0"), GpuContextType::Vulkan, 1000, 1.0);
    let context = context.expect("there is room for a context");
    for index in 0..100_i64 {
        let mut zone = context.span_alloc("kernel", "run", "kernel.cpp", 3).expect("there is room");
        zone.end_zone();
        zone.upload_timestamp_start(1000 + index * 50);
        zone.upload_timestamp_end(1000 + index * 50 + 20 + index);
    }
}

/// Announces an op: a message with its description, and a zone that names its id.
fn op(client: &Client, id: &str) {
    let span = client.clone().span_alloc(Some("TT_DNN_DEVICE_OP"), "run", "op_profiler.hpp", 1, 0);
    span.emit_text(&format!("id:{id}"));
    let description = format!(
        "{{\"global_call_count\": {id}, \"op_code\": \"Op{id}\", \"device_id\": 0, \
         \"op_type\": \"tt_dnn_device\"}}"
    );
    let head = format!("`TT_DNN_DEVICE_OP: \"Op{id}\", 7, 0, false, {id} ->");
    client.message(&format!("{head}\n{description}`"), 0);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |what| {
        let argument = arguments.next();
        argument.and_then(|text| text.parse::<u64>().ok()).unwrap_or_else(|| panic!("{what}"))
    };
    let zones = number("how many zones?");
    let threads = number("how many threads?");
    let account_path = arguments.next().expect("where to is the account?");
    let wait_s = arguments.next().and_then(|text| text.parse().ok());
    let client = Client::start();
    client.set_thread_name("the main thread");
    client.message("begin", 0);
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            let client = client.clone();
            std::thread::spawn(move || thread(&client, number, zones / threads))
        })
        .collect();
    let mut account = String::new();
    for (number, worker) in workers.into_iter().enumerate() {
        for Measured { depth, inside_ns, around_ns, text } in worker.join().expect("it ends") {
            let text = text.unwrap_or_default();
            writeln!(account, "{number}\t{depth}\t{inside_ns}\t{around_ns}\t{text}")
                .expect("memory takes it");
        }
    }
    device(&client);
    for id in
        std::env::var("TRACY_LOAD_OPS").unwrap_or_default().split(',').filter(|id| !id.is_empty())
    {
        op(&client, id);
    }
    for _ in 0..3 {
        client.frame_mark();
        client.secondary_frame_mark(frame_name!("iteration"));
    }
    {
        let stack = client.clone().span(span_location!("WithStack"), 8);
        stack.emit_color(0x0012_3456);
        stack.emit_value(77);
    }
    client.color_message("end", 0xFF80_00FF, 0);
    std::fs::write(account_path, account).expect("the account is written");
    println!("recorded");
    if let Some(wait_s) = wait_s {
        let _open = client.clone().span(span_location!("StillOpen"), 0);
        std::thread::sleep(Duration::from_secs(wait_s));
    }
}
