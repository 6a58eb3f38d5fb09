"""The program of the wheel as a server for agents: `kprof mcp`."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

LOG = """ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
"""


def ask(folder: Path, *requests: dict) -> list[dict]:
    """Starts the server, asks in turn, and returns the answers."""
    program = Path(sysconfig.get_path("scripts")) / ("kprof.exe" if sys.platform == "win32" else "kprof")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": number, **request} for number, request in enumerate(requests, 1)),
    ]
    server = subprocess.Popen(
        [program, "mcp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    answers = []
    for message in messages:
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        if "id" in message:
            answers.append(json.loads(server.stdout.readline()))
    server.stdin.close()
    assert server.wait(timeout=60) == 0
    assert [answer["id"] for answer in answers] == list(range(len(requests) + 1))
    return answers


def test_the_wheel_answers_agents(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    hello, tools = ask(tmp_path, {"method": "tools/list"})
    assert hello["result"]["serverInfo"]["name"] == "kprof"
    names = {tool["name"] for tool in tools["result"]["tools"]}
    [load] = [name for name in names if name.startswith("load")]
    _, answer = ask(tmp_path, {"method": "tools/call", "params": {"name": load, "arguments": {"path": "log.csv"}}})
    text = json.dumps(answer["result"])
    assert not answer["result"].get("isError") and "wormhole_b0" in text, text
