"""The peer: PyTorch, with DistributedDataParallel and Gloo where there are several ranks.

Trains the same networks on the same data as `lockstep train`, and prints one JSON line: examples/s of all ranks after
the warm-up, and the largest resident set of a rank. Batches come from torchvision's transforms and DataLoader, as users
write it, or (--input tensors) from images that stay in memory as one tensor and are cropped and normalised batch by
batch.
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
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

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
        from PIL import Image
        self.pixels, self.labels, self.transform = pixels, labels, transform
        self.image = Image.fromarray

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.image(self.pixels[index].numpy())), int(self.labels[index])


def read_images(recipe):
    """uint8 pixels (N, height, width[, channels]), labels, and the mean and deviation of the channels."""
    if recipe == "fashion":
        with gzip.open(f"{FASHION}/train-images-idx3-ubyte.gz") as f:
            pixels = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)[16:].view(-1, 28, 28)
        with gzip.open(f"{FASHION}/train-labels-idx1-ubyte.gz") as f:
            labels = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)[8:]
        return pixels, labels, (0.2860,), (0.3530,)
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (50000, 32, 32, 3), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (50000,), generator=generator)
    return pixels, labels, (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def loaded_batches(args, rank):
    """Endless batches by torchvision and DataLoader."""
    from torchvision import transforms
    pixels, labels, mean, deviation = read_images(args.recipe)
    augment = [] if args.recipe == "fashion" else [transforms.RandomCrop(32, padding=4),
                                                   transforms.RandomHorizontalFlip()]
    data = Images(pixels, labels, transforms.Compose(
        augment + [transforms.ToTensor(), transforms.Normalize(mean, deviation)]))
    sampler = DistributedSampler(data, args.workers, rank, shuffle=True)
    loader = DataLoader(data, args.batch, sampler=sampler, num_workers=args.loader_workers,
                        persistent_workers=args.loader_workers > 0, drop_last=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        epoch += 1
        yield from loader


def tensor_batches(args, rank):
    """The same batches from tensors: each is a few operations on all of its images."""
    pixels, labels, mean, deviation = read_images(args.recipe)
    labels = labels.long()
    pixels = pixels.unsqueeze(1) if pixels.dim() == 3 else pixels.permute(0, 3, 1, 2).contiguous()
    scale = (1 / (255 * torch.tensor(deviation))).view(1, -1, 1, 1)
    shift = (torch.tensor(mean) / torch.tensor(deviation)).view(1, -1, 1, 1)
    size = pixels.shape[-1]
    augment = args.recipe != "fashion"
    if augment:
        pixels = F.pad(pixels, (4, 4, 4, 4))
    generator = torch.Generator().manual_seed(1)
    along = torch.arange(size)
    channels = torch.arange(pixels.shape[1]).view(1, -1, 1, 1)
    while True:
        order = torch.randperm(len(labels), generator=generator)[rank::args.workers]
        for chosen in order.split(args.batch):
            if len(chosen) < args.batch:
                break
            if augment:
                top, left = torch.randint(0, 9, (2, args.batch, 1))
                columns = torch.where(torch.rand(args.batch, 1) < 0.5, along, size - 1 - along) + left
                images = pixels[chosen.view(-1, 1, 1, 1), channels, (along + top).view(-1, 1, size, 1),
                                columns.view(-1, 1, 1, size)]
            else:
                images = pixels[chosen]
            yield images * scale - shift, labels[chosen]


def worker(rank, args, results):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[rank * args.threads:(rank + 1) * args.threads])
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = FashionNet() if args.recipe == "fashion" else ResNet18()
    channels_last = args.format == "channels_last"
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    if args.workers > 1:
        dist.init_process_group("gloo", init_method=f"file://{args.rendezvous}", rank=rank,
                                world_size=args.workers)
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    settings = {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-4}
    try:
        optimizer = torch.optim.SGD(model.parameters(), fused=True, **settings)
    except TypeError:  # versions before 2.4
        optimizer = torch.optim.SGD(model.parameters(), **settings)
    if args.compile:
        model = torch.compile(model)
    batches = (tensor_batches if args.input == "tensors" else loaded_batches)(args, rank)
    model.train()
    for step in range(args.steps):
        if step == args.warmup:
            if args.workers > 1:
                dist.barrier()
            began = time.perf_counter()
        images, labels = next(batches)
        if channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()
    seconds = time.perf_counter() - began
    results.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
    if args.workers > 1:
        dist.barrier()
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe", choices=["fashion", "cifar-resnet18"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--input", choices=["loader", "tensors"], default="loader")
    parser.add_argument("--compile", action="store_true")
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
    print(json.dumps({"version": torch.__version__,
                      "examples_per_s": examples / max(s for s, _ in measured),
                      "peak_memory_bytes": max(m for _, m in measured)}))


if __name__ == "__main__":
    main()
