"""Runs tasks in plain PyTorch in another environment, for comparisons by `peer.py`.

Usage: `python torch_peer.py TASK JSON wall|cpu`. The script prints one line with facts about the
libraries. After this line, the script repeatedly reads a number of steps, runs the task, and prints
the mean seconds per step. The script imports only PyTorch, the standard library and, for one task,
spd_learn.
"""

import itertools
import json
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    print(f"torch_peer runs in an environment that has PyTorch. {error}", file=sys.stderr)
    raise SystemExit(77) from None  # `SKIPPED` of `smoke.py`, which is not importable there


def pairwise(n, filters, knots):
    """Computes the L1 distances between all pairs and their gradients. The arrays already contain
    the products of the values and the weights.
    """
    x, y = (torch.randn(n, filters * knots, requires_grad=True) for _ in range(2))

    def run():
        x.grad = y.grad = None
        torch.cdist(x, y, p=1).square().sum().backward()

    return run, {}


def sort_gather(batch, time, filters, ranks):
    """Sorts along time and gathers ranks, in a forward and a backward pass."""
    x = torch.randn(batch, time, filters, requires_grad=True)
    index = torch.randint(0, time, (batch, ranks, filters))

    def run():
        x.grad = None
        torch.sort(x, dim=1).values.gather(1, index).square().sum().backward()

    return run, {}


class Encoder(nn.Module):
    """Network of `keras_dml.models.sequence_encoder`, for input `(batch, channels, time)`."""

    def __init__(self, channels, widths, halving_before, knots):
        super().__init__()
        stages = []
        for i, width in enumerate(widths):
            if i in halving_before:
                stages.append(nn.AvgPool1d(2, ceil_mode=True))
            stages += [
                nn.Conv1d(channels, width, 3, padding="same", bias=False),
                nn.BatchNorm1d(width, momentum=0.01),
                nn.PReLU(width, init=0.0),
            ]
            channels = width
        self.stages = nn.Sequential(*stages)
        share = torch.arange(1, knots + 1) / (knots + 1)
        self.alpha = nn.Parameter(torch.log(share / (1 - share)))

    def forward(self, x):
        """Returns the values at the knots, shape `(batch, filters, knots)`, and the knots."""
        x = self.stages(x)
        inner = torch.sigmoid(self.alpha.sort().values)
        knots = torch.cat([torch.zeros(1), inner, torch.ones(1)])
        count = x.shape[2]
        place = knots * count
        lower = place.detach().floor().clamp(max=count - 1)
        ranks = torch.cat([lower, (lower + 1).clamp(max=count - 1)]).long()
        ordered = torch.sort(x, dim=2).values
        low, high = ordered.gather(2, ranks.expand(*x.shape[:2], -1)).chunk(2, dim=2)
        return low + (place - lower) * (high - low), knots


def wasserstein_loss(values, knots):
    """Computes Eq. 13 of Abdelwahab2019 with distance Eq. 9. Rows 2i and 2i + 1 are a pair."""
    gap = values[0::2, None] - values[None, 1::2]  # (pairs, pairs, filters, knots)
    u, v = gap[..., :-1], gap[..., 1:]
    total = u.abs() + v.abs()
    crossing = (-u * v).clamp(min=0) / torch.where(total > 0, total, 1)
    table = ((total / 2 - crossing) * knots.diff()).sum((2, 3))
    diagonal = table.diagonal()[:, None]
    off = ~torch.eye(len(table), dtype=torch.bool)
    return (functional.softplus(diagonal - table) * off).sum(1).mean()


def training_step(pairs, time, channels, widths, halving_before, knots):
    """Takes one step of Adam on batches of pairs."""
    model = Encoder(channels, widths, halving_before, knots)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(2 * pairs, time, channels)

    def run():
        optimizer.zero_grad()
        loss = wasserstein_loss(*model(x.transpose(1, 2).contiguous()))
        loss.backward()
        optimizer.step()
        return loss.item()

    return run, {"parameters": sum(p.numel() for p in model.parameters())}


def spd_network(sizes, batch, epsilon):
    """Runs the forward and backward pass of spd_learn's BiMap and ReEig for each size, and then of
    LogEig.

    The kernels are plain tensors, so that neither library spends time on keeping them orthonormal.
    """
    import spd_learn
    from spd_learn.modules import BiMap, LogEig, ReEig

    stages = []
    for n, units in itertools.pairwise(sizes):
        bimap = BiMap(n, units, parametrized=False, init_method="stiefel")
        stages += [bimap, ReEig(threshold=epsilon)]
    model = nn.Sequential(*stages, LogEig())
    x = torch.randn(batch, 3 * sizes[0], sizes[0])
    x = x.mT @ x / (3 * sizes[0])

    def run():
        model.zero_grad()
        model(x).square().sum().backward()

    return run, {"spd_learn": spd_learn.__version__}


def spd_distances(n, references, batch, dtype):
    """Computes spd_learn's affine-invariant distances between all pairs, and their gradients.

    In float32, spd_learn floors eigenvalues and loses up to a fifth of a distance of badly
    conditioned matrices.
    """
    import spd_learn
    from spd_learn.functional import airm_distance

    x = torch.randn(references + batch, 3 * n, n, dtype=getattr(torch, dtype))
    x = (x.mT @ x / (3 * n)).requires_grad_()

    def run():
        x.grad = None
        airm_distance(x[:references, None], x[None, references:]).square().sum().backward()

    return run, {"spd_learn": spd_learn.__version__}


TASKS = {
    task.__name__: task
    for task in (pairwise, sort_gather, spd_distances, spd_network, training_step)
}


SMOKE = {
    "pairwise": {"n": 4, "filters": 3, "knots": 5},
    "sort_gather": {"batch": 2, "time": 20, "filters": 3, "ranks": 4},
    "training_step": {
        "pairs": 2,
        "time": 20,
        "channels": 3,
        "widths": [4, 4],
        "halving_before": [1],
        "knots": 4,
    },
}


def smoke():
    """Runs each task once on small sizes, except the task that needs spd_learn."""
    for task, sizes in SMOKE.items():
        run, facts = TASKS[task](**sizes)
        run()
        print(task, facts)


def main(task, sizes, kind):
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[kind]
    if kind == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(0)
    run, facts = TASKS[task](**json.loads(sizes))
    about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "clock": kind}
    print(json.dumps({**about, **facts}), flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = clock()
        for _ in range(steps):
            run()
        print((clock() - start) / steps, flush=True)


if __name__ == "__main__":
    smoke() if sys.argv[1:] == ["--smoke"] else main(*sys.argv[1:])
