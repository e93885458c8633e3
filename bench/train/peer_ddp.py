"""The peer: PyTorch DistributedDataParallel with Gloo and torchvision's DataLoader.

Trains the same networks on the same data as `lockstep train`, with one thread a rank, and prints one
JSON line: examples/s of all ranks after the warm-up, and the largest resident set of a rank.
"""
import argparse
import gzip
import json
import os
import resource
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision import transforms

FASHION = "/usr/share/datasets/fashion-mnist"


class FashionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 24, 3, padding=1)
        self.hidden = nn.Linear(24 * 7 * 7, 128)
        self.scores = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.scores(F.relu(self.hidden(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Sequential(
                nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x), inplace=True)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        blocks, cin = [], 64
        for stage, cout in enumerate([64, 128, 256, 512]):
            for i in range(2):
                blocks.append(Block(cin, cout, 2 if stage > 0 and i == 0 else 1))
                cin = cout
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(512, 10)

    def forward(self, x):
        x = self.blocks(F.relu(self.bn1(self.conv1(x)), inplace=True))
        return self.linear(x.mean((2, 3)))


class Images(Dataset):
    """uint8 images in memory, handed to the transforms as PIL images, as torchvision's datasets do."""

    def __init__(self, pixels, labels, transform):
        self.pixels, self.labels, self.transform = pixels, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.pixels[index].numpy())), int(self.labels[index])


def load(recipe):
    if recipe == "fashion":
        with gzip.open(f"{FASHION}/train-images-idx3-ubyte.gz") as f:
            pixels = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)[16:].view(-1, 28, 28)
        with gzip.open(f"{FASHION}/train-labels-idx1-ubyte.gz") as f:
            labels = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)[8:]
        return Images(pixels, labels, transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize((0.2860,), (0.3530,))]))
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (50000, 32, 32, 3), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (50000,), generator=generator)
    return Images(pixels, labels, transforms.Compose([
        transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))]))


def worker(rank, args, results):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{args.rendezvous}", rank=rank,
                            world_size=args.workers)
    torch.manual_seed(1)
    net = FashionNet() if args.recipe == "fashion" else ResNet18()
    channels_last = args.format == "channels_last"
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    data = load(args.recipe)
    sampler = DistributedSampler(data, args.workers, rank, shuffle=True)
    loader = DataLoader(data, args.batch, sampler=sampler, num_workers=args.loader_workers,
                        persistent_workers=args.loader_workers > 0, drop_last=True)
    model.train()
    step, began, epoch = 0, None, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for images, labels in loader:
            if step == args.warmup:
                dist.barrier()
                began = time.perf_counter()
            if channels_last:
                images = images.to(memory_format=torch.channels_last)
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            loss.item()
            step += 1
            if step >= args.steps:
                break
    seconds = time.perf_counter() - began
    results.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe", choices=["fashion", "cifar-resnet18"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--format", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--loader-workers", type=int, default=0)
    parser.add_argument("--rendezvous", required=True)
    args = parser.parse_args()
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(worker, args=(args, results), nprocs=args.workers)
    measured = [results.get() for _ in range(args.workers)]
    examples = (args.steps - args.warmup) * args.batch * args.workers
    print(json.dumps({"examples_per_s": examples / max(s for s, _ in measured),
                      "peak_memory_bytes": max(m for _, m in measured)}))


if __name__ == "__main__":
    main()
