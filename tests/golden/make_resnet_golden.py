#!/usr/bin/python3
"""Computes resnet18_cifar.txt: what PyTorch gets for ResNet-18 (CIFAR) with known parameters.

Parameters, images and labels come from a hash of their index, so that the C++ side makes the same
floats without a file of 11 million of them. PyTorch then computes in double precision, so that a
difference seen by the test is the error of the code under test alone. With --float it computes in
single precision and prints the differences from the committed file, as a scale for tolerances.

Needs python3-torch. Usage: make_resnet_golden.py > resnet18_cifar.txt
"""
import math
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, STEPS, RATE, MOMENTUM, DECAY = 8, 4, 0.002, 0.9, 5e-4


def uniform(stream, count):
    """`count` floats in [-1, 1): the SplitMix64 hash of (stream, index), 24 bits of it."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint64) + np.uint64(stream) * np.uint64(1 << 32)
        x = x * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1).astype(np.float32)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for stage in range(4):
            outputs = 64 << stage
            for i in range(2):
                stride = 2 if stage > 0 and i == 0 else 1
                self.add_module(f"layer{stage + 1}_{i}", Block(inputs, outputs, stride))
                inputs = outputs
        self.linear = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for name, module in self.named_children():
            if name.startswith("layer"):
                x = module(x)
        return self.linear(x.mean((2, 3)))


def fill(net):
    """Weights of variance 2 / fan-in, norms around 1, biases around 0."""
    for stream, (name, parameter) in enumerate(net.named_parameters()):
        values = uniform(stream + 1, parameter.numel())
        if parameter.dim() > 1:
            fan_in = parameter.numel() // parameter.shape[0]
            values = values * np.float32(math.sqrt(6.0 / fan_in))
        elif name.endswith("weight"):
            values = np.float32(1) + np.float32(0.25) * values
        else:
            values = np.float32(0.25) * values
        parameter.data = torch.from_numpy(values.reshape(parameter.shape)).to(parameter.dtype)


def results(dtype):
    torch.set_default_dtype(dtype)
    net = ResNet18()
    fill(net)
    images = torch.from_numpy(uniform(1000, BATCH * 3 * 32 * 32).reshape(BATCH, 3, 32, 32)).to(dtype)
    labels = torch.arange(BATCH) * 7 % 10
    yield "parameters", sum(p.numel() for p in net.parameters())

    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    for step in range(STEPS):
        loss = F.cross_entropy(net(images), labels)
        yield f"loss.step{step}", loss.item()
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            for name, parameter in net.named_parameters():
                yield f"gradient_norm.{name}", parameter.grad.norm().item()
            for name, buffer in net.named_buffers():
                if "running" in name:
                    yield f"norm.{name}", buffer.norm().item()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        yield "loss.evaluation", F.cross_entropy(net(images), labels).item()


def main():
    if "--float" in sys.argv:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "resnet18_cifar.txt")
        with open(path) as file:
            golden = dict(line.split() for line in file if not line.startswith("#"))
        for name, value in results(torch.float32):
            print(f"{name} {abs(value / float(golden[name]) - 1):.1e}")
        return
    print(f"# Made by make_resnet_golden.py with PyTorch {torch.__version__} in double precision:")
    print(f"# batch {BATCH}, SGD with rate {RATE}, momentum {MOMENTUM}, weight decay {DECAY}.")
    for name, value in results(torch.float64):
        print(f"{name} {value:.12g}")


if __name__ == "__main__":
    main()
