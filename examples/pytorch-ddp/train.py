#!/usr/bin/env python3
"""Data-parallel training of a small convolutional network on Fashion-MNIST with PyTorch DDP.

An ordinary script: it knows nothing of Lockstep. Without the data set it makes up images of the same
shape and says so.

    python3 -m torch.distributed.run --nproc_per_node 2 train.py --batch-size 128 --epochs 2
"""
import argparse
import gzip
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def read_idx(path):
    """Images or labels in the format of MNIST."""
    with gzip.open(path) as file:
        data = file.read()
    dimensions = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(dimensions)]
    return torch.frombuffer(bytearray(data[4 + 4 * dimensions:]), dtype=torch.uint8).reshape(shape)


def load(folder, examples):
    images, labels = os.path.join(folder, "train-images-idx3-ubyte.gz"), None
    if os.path.exists(images):
        labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte.gz")).long()[:examples]
        return TensorDataset(read_idx(images)[:examples].float().div(255).unsqueeze(1), labels), False
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(10, (examples,), generator=generator)
    images = torch.rand(examples, 1, 28, 28, generator=generator)
    images[torch.arange(examples), 0, labels] += 1  # a bright row for each class
    return TensorDataset(images, labels), True


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=128, help="of each worker")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--examples", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    options = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    dataset, synthetic = load(options.data, options.examples)
    sampler = DistributedSampler(dataset, seed=options.seed)
    loader = DataLoader(dataset, batch_size=options.batch_size, sampler=sampler)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    if rank == 0:
        print(f"world size: {world}, {len(dataset)} examples"
              + (" (synthetic)" if synthetic else ""), flush=True)

    for epoch in range(1, options.epochs + 1):
        sampler.set_epoch(epoch)
        dist.barrier()
        began, total, right, seen = time.perf_counter(), 0.0, 0, 0
        for images, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            scores = model(images)
            loss = loss_of(scores, labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            right += (scores.argmax(1) == labels).sum().item()
            seen += len(labels)
        dist.barrier()
        seconds = time.perf_counter() - began
        if rank == 0:
            print(f"Epoch {epoch}/{options.epochs}: loss {total / seen:.4f}, "
                  f"accuracy {100 * right / seen:.2f}%, time {seconds:.3f} s, "
                  f"throughput {len(dataset) / seconds:.0f} examples/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
