#!/usr/bin/python3
"""Writes the small files of PyTorch in models/ that tests read: state files of every form that
torch.save makes, and TorchScript modules to be trained.

Needs python3-torch. Usage: make_models.py [FOLDER]
"""
import argparse
import os
import sys

import torch
import torch.nn as nn


class SmallNet(nn.Module):
    """For 3 x 32 x 32 images; batch norm, dropout off, a branch in its code."""

    def __init__(self, outputs):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.head = nn.Linear(16, outputs)

    def forward(self, images):
        x = self.features(images).mean((2, 3))
        if self.training:
            x = x * 1.0
        return self.head(x)


class Features(nn.Module):
    """A backbone of no known shape: N x 12 x H/4 x W/4 features."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU(),
                                    nn.Conv2d(6, 12, 3, 2, 1), nn.ReLU())

    def forward(self, images):
        return self.layers(images)


class Tied(nn.Module):
    """One weight in two places."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, images):
        return self.second(torch.tanh(self.first(images.mean((2, 3)))))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, images):
        return self.layer(images.mean((2, 3))), 1


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
    os.makedirs(folder, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)

    torch.manual_seed(7)
    torch.jit.script(SmallNet(10)).save(path("small_net.pt"))
    torch.jit.script(SmallNet(1)).save(path("small_regression.pt"))
    torch.jit.script(Features()).save(path("features.pt"))
    torch.jit.script(Tied()).save(path("tied.pt"))
    torch.jit.script(Pair()).save(path("returns_pair.pt"))

    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) + 0.5)
    state = model.state_dict()
    torch.save(state, path("ordered_dict.pt"))
    torch.save(dict(state), path("plain_dict.pt"))
    torch.save({"epoch": 3, "best": 0.25, "args": argparse.Namespace(lr=0.1), "state_dict": state},
               path("checkpoint.pt"))
    torch.save({"module." + name: value for name, value in state.items()}, path("data_parallel.pt"))
    torch.save(state, path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(nn.Sequential(nn.Linear(2, 3)), path("whole_model.pt"))
    torch.save([1, "two", 3.0], path("no_tensors.pt"))
    shared = torch.arange(12.0)
    torch.save({"transposed": shared.view(3, 4).t(), "part": shared[4:8], "half": shared.half(),
                "double": shared.double(), "whole": shared.long(), "scalar": torch.tensor(2.5),
                "empty": torch.empty(0, 3)}, path("views.pt"))


main()
