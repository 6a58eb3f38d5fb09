//! Unit tests of the kinds of files.

use super::{FileKind, Unread};

#[test]
fn files_are_told_apart_by_their_first_bytes() {
    use FileKind::{DeviceLog, DeviceOpsCsv, NocTrace, OpsCsv};
    for (head, kind) in [
        (&b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nx"[..], DeviceLog),
        (b"\xEF\xBB\xBFARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nx", DeviceLog),
        (b"# from a job\n\n  # of mine\r\nARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nx", DeviceLog),
        (b"Chip clock is at 1202 MHz\nPCIe slot, core_x", DeviceLog),
        (b"OP CODE,OP TYPE,GLOBAL CALL COUNT\n", OpsCsv),
        (b"# from a job\nOP CODE,OP TYPE,GLOBAL CALL COUNT\n", OpsCsv),
        (b"\xEF\xBB\xBFOP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ARCH\r\n", OpsCsv),
        (b"\"GLOBAL CALL COUNT\",\"OP CODE\"\r\n", OpsCsv),
        (b"GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT\n1", DeviceOpsCsv),
        (b"DEVICE ID,GLOBAL CALL COUNT,EXECUTION,DEVICE KERNEL START CYCLE,CORE COUNT\n", OpsCsv),
        (
            b"[\n  {\n    \"proc\": \"BRISC\",\n    \"run_host_id\": 1024,\n    \"timestamp\": 7",
            NocTrace,
        ),
        (b"[\n\n { \"proc\":\"BRISC\" , \"sx\":1 , \"timestamp\" : 9 }", NocTrace),
    ] {
        assert_eq!(FileKind::from_head(head), kind, "{}", String::from_utf8_lossy(head));
    }
    for (head, kind) in UNREAD {
        assert_eq!(FileKind::from_head(head), FileKind::Unread(kind), "{kind:?}");
    }
}

/// Beginnings of files that no command reads.
const UNREAD: [(&[u8], Unread); 53] = [
    (b"tlZ\x04\x13^", Unread::TracyFile),
    (b"tr\xFDP\0", Unread::TracyFile),
    (b"GLOBAL CALL COUNT,DEVICE ID,OP CODES\n", Unread::OtherText),
    (b"GLOBAL CALL COUNT,OP TYPE,OP CODES\n", Unread::OpsCsvWithoutNames),
    (
        b"OPCODE,OP TYPE,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]\nx",
        Unread::OpsCsvWithoutNames,
    ),
    (b"OP CODE;OP TYPE;GLOBAL CALL COUNT\n", Unread::OtherSeparator),
    (b"OP CODE\tOP TYPE\tGLOBAL CALL COUNT\n", Unread::OtherSeparator),
    (b"PCIe slot; core_x; core_y; RISC processor type\n", Unread::OtherSeparator),
    (b"PCIe slot, core_x, core_y, RISC processor type, timer_id\n0,1,2", Unread::LogWithoutChip),
    (b"0,1,2,BRISC,4034,100,0,3072,,,BRISC-FW,ZONE_START,438,,", Unread::LogWithoutTitles),
    (b"0,1,2,TRISC_1,4034,100,0\n", Unread::LogWithoutTitles),
    (b"0,1,2,WIDGET,4034,100,0\n0,1,2,WIDGET,4034,100,0\n", Unread::OtherCsv),
    (b"ID,Total %,Bound,OP Code,Device,Device Time,Op-to-Op Gap,Cores\r\n1", Unread::PerfReport),
    (b"Rank,ID,Total %,Bound,OP Code,Device,Device Time\r\n1", Unread::PerfReport),
    (b"Total % [%],Op Code,Device Time Sum [\xCE\xBCs],Op Count\n", Unread::PerfSummary),
    (b"device ID,op2op ID,1; 1 [ns],2; 1 [ns]\n0,7 -> 8,70,50\n", Unread::CoreTimes),
    (
        b"name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns\n",
        Unread::HostTimes,
    ),
    (
        b"name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns\nA,f.cpp,1,2\n",
        Unread::TracyZones,
    ),
    (
        b"program_id,chip_id,start_timestamp,end_timestamp,duration_cycles,frequency_ghz\n1,0,5,9,4,1\n",
        Unread::RealtimeRecords,
    ),
    (
        b"[{\"program_id\": 1, \"chip_id\": 0, \"start_timestamp\": 5, \"end_timestamp\": 9}]",
        Unread::RealtimeRecords,
    ),
    (b"[{\"program_id\": 1, \"start_timestamp\": 5}]", Unread::Json),
    (b"MessageName;total_ns\n`TT_DNN_DEVICE_OP: x", Unread::HostMessages),
    (b"mathop,tile_cnt,marker,mean(L1_TO_L1),std(L1_TO_L1)\n", Unread::LlkPerf),
    (b"RISC,marker,id,type,timestamp\nUNPACK,TILE_LOOP,3,ZONE_START,100\n", Unread::LlkZones),
    (b"device id,core_x, core_y,device,host_tracy,host_real,tracy_ratio\n", Unread::SyncInfo),
    (b"k.cpp:10:5: note: '#pragma message: A,k.cpp,10,KERNEL_PROFILER'\n", Unread::ZoneLog),
    (b"arch: {\n  0: wormhole_b0,\n}\nharvesting: {\n", Unread::ClusterDescriptor),
    (b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", Unread::ChromeTrace),
    (b"[{\"ph\":\"X\",\"name\":\"a\"}", Unread::ChromeTrace),
    (b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}", Unread::Speedscope),
    (b"PAR1\x15\x04", Unread::Parquet),
    (b"<!doctype html>\n<html lang=\"en\">", Unread::Page),
    (b"<!DOCTYPE html>\n<HTML>", Unread::Page),
    (b"<svg xmlns=\"http://www.w3.org/2000/svg\">", Unread::Svg),
    (b"<?xml version=\"1.0\"?>\n<svg>", Unread::Svg),
    (b"<?xml version=\"1.0\"?>\n<testsuites/>", Unread::OtherText),
    (b"\x1F\x8B\x08\0", Unread::Gzip),
    (b"\x28\xB5\x2F\xFD\x04", Unread::Zstandard),
    (b"PK\x03\x04\x14", Unread::Zip),
    (b"SQLite format 3\0\x10", Unread::Sqlite),
    (b"\x7FELF\x01\x01", Unread::Elf),
    (b"\xFF\xFEO\0P\0", Unread::Utf16),
    (b"\xFE\xFF\0O\0P", Unread::Utf16),
    (b"[\n  {\n    \"proc\": \"BRISC\",\n    \"timestamp\": 7", Unread::Json),
    (b"{\"proc\": 1, \"run_host_id\": 1024, \"timestamp\": 7}", Unread::Json),
    (b"a,b,c\n1,2,3\n", Unread::OtherCsv),
    (b"hello\nworld\n", Unread::OtherText),
    (b"a, b and c\nno table\n", Unread::OtherText),
    (b"\n^G\x00\x01", Unread::OtherBytes),
    (b"", Unread::Empty),
    (b"\n \r\n", Unread::Empty),
    (b"# only a comment\n", Unread::Empty),
    (b"\xEF\xBB\xBF", Unread::Empty),
];

#[test]
fn every_kind_without_a_reader_has_a_sample_and_its_own_words() {
    for kind in Unread::ALL {
        assert!(UNREAD.iter().any(|(_, of_sample)| *of_sample == kind), "{kind:?}");
        let others = Unread::ALL.into_iter().filter(|other| *other != kind);
        for other in others {
            assert_ne!(kind.name(), other.name(), "{kind:?} and {other:?}");
        }
    }
}
