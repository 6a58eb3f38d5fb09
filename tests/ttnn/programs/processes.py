"""Starts processes that run different ops at the same time; the first argument says how."""

import multiprocessing
import subprocess
import sys

COUNTS = {"clone": 3, "slice": 2, "concat": 4}


def work(name):
    import tensors
    import ttnn

    device = tensors.open_device()
    x, a = tensors.rows(device)
    for _ in range(COUNTS[name]):
        if name == "clone":
            found, expected = ttnn.clone(a), x
        elif name == "slice":
            found, expected = ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64]), x[:, :, :32]
        else:
            found, expected = ttnn.concat([a, a], dim=2), None
        if expected is not None:
            assert (tensors.values(found).reshape(expected.shape) == expected).all()
    ttnn.close_device(device)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(sys.argv[2])
    elif sys.argv[1] == "fork":
        import ttnn  # noqa: F401

        context = multiprocessing.get_context("fork")
        running = [context.Process(target=work, args=(name,)) for name in COUNTS]
        for process in running:
            process.start()
        for process in running:
            process.join()
        sys.exit(max(process.exitcode for process in running))
    else:
        words = [sys.executable, __file__, "one"]
        started = [subprocess.Popen([*words, name]) for name in COUNTS]
        sys.exit(max(process.wait() for process in started))
