"""training_program.cpp once more, with Python's DistributedDataParallel: peer.py RANKS [key=value ...]."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def formula(shape, frequency, scale):
    count = 1
    for size in shape:
        count *= size
    values = (torch.arange(count, dtype=torch.double) * frequency + 0.5).sin() * scale
    return values.float().reshape(shape)


class Net(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
        self.with_extra = bool(options["unused"])
        if self.with_extra:
            self.extra = nn.Linear(16, 3)
        if options["frozen"]:
            for parameter in self.two.parameters():
                parameter.requires_grad = False
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters()):
                parameter.copy_(formula(parameter.shape, 0.7 + 0.1 * index, 0.4))

    def forward(self, x, use_extra):
        y = torch.tanh(self.two(torch.tanh(self.one(x))))
        return self.three(y) + self.extra(y) if self.with_extra and use_extra else self.three(y)


def examples(first, count):
    index = torch.arange(first, first + count, dtype=torch.double).unsqueeze(1)
    x = ((index * 1.7 + torch.arange(8, dtype=torch.double) * 0.9 + 0.3).sin() * 1.5).float()
    y = ((index.squeeze(1) * 0.61).sin() * 2.999 + 3).floor().fmod(3).long()
    return x, y


def run(rank, ranks, place, options):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + place, rank=rank, world_size=ranks)
    net = Net(options)
    ddp = nn.parallel.DistributedDataParallel(net, find_unused_parameters=bool(options["unused"]))
    trained = [p for p in net.parameters() if p.requires_grad]
    if options["optimizer"].endswith("adam"):
        optimizer = torch.optim.Adam(trained, lr=0.01)
    else:
        optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    batch, accumulate = options["batch"], options["accumulate"]
    mine = batch // ranks // accumulate
    for step in range(options["steps"]):
        optimizer.zero_grad()  # from PyTorch 2.0 on, gradients become None; likewise in LibTorch
        use_extra = False if step % 3 == 0 else rank == 0 if step % 3 == 1 else True
        total = torch.zeros((), dtype=torch.double)
        for micro in range(accumulate):
            def backward():
                x, y = examples(step * batch + (micro * ranks + rank) * mine, mine)
                loss = nn.functional.cross_entropy(ddp(x, use_extra), y) / accumulate
                loss.backward()
                total.add_(loss.item())

            if micro + 1 < accumulate:
                with ddp.no_sync():
                    backward()
            else:
                backward()
        optimizer.step()
        dist.all_reduce(total)
        if rank == 0:
            print("loss %d %.9g" % (step, total.item() / ranks), flush=True)
    # Taking Gloo down sometimes hangs or aborts (1.13 and 2.15), after all losses are printed.
    sys.stdout.flush()
    try:
        dist.barrier()
    finally:
        os._exit(0)


def main():
    ranks = int(sys.argv[1])
    options = {"unused": 0, "frozen": 0, "optimizer": "sgd", "batch": 32, "accumulate": 1, "steps": 50}
    for word in sys.argv[2:]:
        key, value = word.split("=")
        options[key] = int(value) if value.isdigit() else value
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, args=(ranks, os.path.join(folder, "meet"), options), nprocs=ranks)


if __name__ == "__main__":
    main()
