"""A small DDP training script, one rank of which is made slow on purpose. It knows nothing of Lockstep."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, delay):
        self.delay = delay

    def __len__(self):
        return 16 * 120

    def __getitem__(self, index):
        if self.delay > 0:
            time.sleep(self.delay / 16)
        return torch.randn(3, 32, 32), index % 10


class Net(nn.Module):
    def __init__(self, delay):
        super().__init__()
        self.delay = delay
        self.layers = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 15 * 15, 10))

    def forward(self, images):
        if self.delay > 0:
            time.sleep(self.delay)
        return self.layers(images)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--where", choices=["loader", "forward", "backward", "none"], default="none")
    parser.add_argument("--rank", type=int, default=-1, help="-1 = all")
    parser.add_argument("--seconds", type=float, default=0.02)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    slow = options.rank in (-1, dist.get_rank())
    delay = {where: options.seconds if slow and where == options.where else 0
             for where in ("loader", "forward", "backward")}
    model = DistributedDataParallel(Net(delay["forward"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for images, labels in DataLoader(Images(delay["loader"]), batch_size=16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        if delay["backward"] > 0:
            time.sleep(delay["backward"])
        loss.backward()
        optimizer.step()


main()
