"""A transformer of two layers: three passes, then a trace of one that is replayed three times.

Prints what the program itself knows of the calls of its ops, for a test to compare: for each launch
in order, the module, the function and the line that call it, all written down here by hand.
"""

import json
import sys

import tensors
import ttnn

SIZE, PASSES = 64, 3
DEVICE = tensors.open_device(trace_bytes=4_000_000)
EXPECTED = []


def here(module, function):
    """Notes that the op of the same line is called here."""
    EXPECTED.append((ttnn._ttnn.get_device_operation_id(), module, function, sys._getframe(1).f_lineno))


def weight():
    return tensors.tiles(DEVICE, 0, (SIZE, SIZE))[1]


class Linear:
    def __init__(self, path):
        self.path, self.weight, self.bias = path, weight(), weight()

    def __call__(self, x):
        here(self.path, "Linear.__call__"); x = ttnn.matmul(x, self.weight)
        here(self.path, "Linear.__call__"); return ttnn.add(x, self.bias)


class Norm:
    def __init__(self, path, gain, bias):
        self.path, self.gain, self.bias = path, gain, bias

    def forward(self, x):
        here(self.path, "Norm.forward"); mean = ttnn.matmul(x, self.gain)
        here(self.path, "Norm.forward"); x = ttnn.subtract(x, mean)
        return self.scaled(x)

    def scaled(self, x):
        here(self.path, "Norm.scaled"); return ttnn.add(x, self.bias)


class Scores:
    """A module that is a closure of its attention."""

    def __init__(self, path, scale):
        def scaled(scores):
            here(path, "Scores.__init__.<locals>.scaled"); return ttnn.add(scores, scale)

        self.scaled = scaled
        self.path = path

    def __call__(self, q, k):
        here(self.path, "Scores.__call__"); k = ttnn.transpose(k, 0, 1)
        here(self.path, "Scores.__call__"); scores = ttnn.matmul(q, k)
        return self.scaled(scores)


class Attention:
    def __init__(self, path):
        self.path = path
        self.q_proj, self.k_proj, self.v_proj = (Linear(f"{path}.{name}_proj") for name in "qkv")
        # An item of a dictionary whose name is no name of an attribute.
        self.parts = {"scores": Scores(f"{path}.parts.scores", weight()), "out.proj": Linear(f"{path}.parts[out.proj]")}

    def forward(self, x):
        q, k, v = [project(x) for project in (self.q_proj, self.k_proj, self.v_proj)]
        scores = self.parts["scores"](q, k)
        here(self.path, "Attention.forward"); scores = ttnn.add(scores, scores)
        here(self.path, "Attention.forward"); context = ttnn.matmul(scores, v)
        return self.parts["out.proj"](context)


class Mlp:
    def __init__(self, path):
        self.path = path
        self.up, self.gate, self.down = (Linear(f"{path}.{name}") for name in ("up", "gate", "down"))

    def forward(self, x):
        up, gate = self.up(x), self.gate(x)
        here(self.path, "Mlp.forward"); x = ttnn.add(up, gate)
        here(self.path, "Mlp.forward.<locals>.<lambda>"); halved = (lambda: ttnn.subtract(x, up))()
        return self.down(halved)


class Layer:
    def __init__(self, path):
        self.path = path
        self.norms = [Norm(f"{path}.norms.{number}", weight(), weight()) for number in range(2)]
        self.attention, self.mlp = Attention(f"{path}.attention"), Mlp(f"{path}.mlp")

    def __call__(self, x):
        attended = self.attention.forward(self.norms[0].forward(x))
        here(self.path, "Layer.__call__"); x = ttnn.add(x, attended)
        thought = self.mlp.forward(self.norms[1].forward(x))
        return residual(self.path, x, thought)


def residual(path, x, y):
    here(path, "residual"); return ttnn.add(x, y)


class Transformer:
    def __init__(self):
        self.decoder = type("Decoder", (), {})()
        self.decoder.layers = [Layer(f"Transformer.decoder.layers.{number}") for number in range(2)]
        self.norm = Norm("Transformer.norm", weight(), weight())

    def forward(self, x):
        for layer in self.decoder.layers:
            x = layer(x)
        # A module that is made for the call.
        x = Norm("Transformer.<Norm>", self.norm.gain, self.norm.bias).forward(x)
        return self.norm.forward(x)


def launches():
    """The module, function and line of each launch so far."""
    ends = [first for first, *_ in EXPECTED[1:]] + [ttnn._ttnn.get_device_operation_id()]
    return [call for (first, *call), end in zip(EXPECTED, ends) for _ in range(end - first)]


model, tokens = Transformer(), weight()
del EXPECTED[:]
for _ in range(PASSES):
    model.forward(tokens)
# A part of the model, and an op of no module.
model.decoder.layers[1].mlp.up(tokens)
here(None, "<module>"); ttnn.add(tokens, tokens)
eager = launches()
del EXPECTED[:]
traced = []
if tensors.IS_FAST and "eager" not in sys.argv:
    trace = ttnn.begin_trace_capture(DEVICE, cq_id=0)
    model.forward(tokens)
    ttnn.end_trace_capture(DEVICE, trace, cq_id=0)
    traced = launches()
    for _ in range(PASSES):
        ttnn.execute_trace(DEVICE, trace, cq_id=0, blocking=False)
print(json.dumps({"eager": eager, "traced": traced}))
ttnn.close_device(DEVICE)
