#!/usr/bin/python3
"""Computes NETWORK.txt: what PyTorch gets for the recipes' networks with known parameters.

Parameters and inputs come from a hash of their index (see make_resnet_golden.py), so that the C++ side
makes the same numbers without a file of millions of them. PyTorch computes in double precision. The
loss is the product of the outputs with hashed numbers; each gradient is kept as its norm and its
product with hashed numbers, so that neither a scale nor an order can be wrong unseen.

Batch norms are in training mode, dropout is off. VGG16 and MobileNetV2 are torchvision's own.
Needs python3-torch and python3-torchvision. Usage: make_network_golden.py [FOLDER]
"""
import math
import os
import sys

import torch
import torch.nn as nn
import torchvision

from make_resnet_golden import ResNet18, fill, uniform

INPUT_STREAM, LOSS_STREAM, GRADIENT_STREAM = 1000, 2000, 3000


class Dcgan(nn.Module):
    """As in PyTorch's DCGAN example, without the sigmoid that its discriminator ends in."""

    def __init__(self, main):
        super().__init__()
        self.main = main

    def forward(self, x):
        return self.main(x)


def generator():
    layers, channels = [nn.ConvTranspose2d(100, 512, 4, 1, 0, bias=False)], 512
    for to in (256, 128, 64, 3):
        layers += [nn.BatchNorm2d(channels), nn.ReLU(),
                   nn.ConvTranspose2d(channels, to, 4, 2, 1, bias=False)]
        channels = to
    return Dcgan(nn.Sequential(*layers, nn.Tanh()))


def discriminator():
    layers, channels = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)], 64
    for to in (128, 256, 512):
        layers += [nn.Conv2d(channels, to, 4, 2, 1, bias=False), nn.BatchNorm2d(to), nn.LeakyReLU(0.2)]
        channels = to
    return Dcgan(nn.Sequential(*layers, nn.Conv2d(512, 1, 4, 1, 0, bias=False)))


class PilotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, 24, 5, 2), nn.ELU(), nn.Conv2d(24, 36, 5, 2), nn.ELU(),
            nn.Conv2d(36, 48, 5, 2), nn.ELU(), nn.Conv2d(48, 64, 3), nn.ELU(),
            nn.Conv2d(64, 64, 3), nn.ELU())
        self.dense = nn.Sequential(
            nn.Linear(1152, 100), nn.ELU(), nn.Linear(100, 50), nn.ELU(), nn.Linear(50, 10), nn.ELU(),
            nn.Linear(10, 1))

    def forward(self, x):
        return self.dense(self.convolutions(x).flatten(1))


NETWORKS = {
    "resnet18_cifar_double": (ResNet18, (4, 3, 32, 32)),
    "dcgan_generator": (generator, (4, 100, 1, 1)),
    "dcgan_discriminator": (discriminator, (4, 3, 64, 64)),
    "pilot_net": (PilotNet, (4, 3, 66, 200)),
    "vgg16": (lambda: torchvision.models.vgg16(num_classes=10), (2, 3, 32, 32)),
    "mobilenet_v2": (lambda: torchvision.models.mobilenet_v2(num_classes=10), (4, 3, 64, 64)),
}


def hashed(stream, shape):
    return torch.from_numpy(uniform(stream, math.prod(shape)).reshape(shape)).double()


def results(make, shape):
    torch.set_default_dtype(torch.float64)
    net = make()
    fill(net)
    net.train()
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.eval()
    yield "parameters", sum(p.numel() for p in net.parameters())
    outputs = net(hashed(INPUT_STREAM, shape))
    yield "output_norm", outputs.norm().item()
    flat = outputs.flatten()
    for i in range(0, len(flat), max(1, len(flat) // 8)):
        yield f"output.{i}", flat[i].item()
    loss = (outputs * hashed(LOSS_STREAM, outputs.shape)).sum()
    yield "loss", loss.item()
    loss.backward()
    for i, (name, parameter) in enumerate(net.named_parameters()):
        yield f"gradient_norm.{name}", parameter.grad.norm().item()
        yield f"gradient_product.{name}", (parameter.grad * hashed(GRADIENT_STREAM + i,
                                                                   parameter.shape)).sum().item()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, (make, shape) in NETWORKS.items():
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            file.write(f"# Made by make_network_golden.py with PyTorch {torch.__version__} and torchvision "
                       f"{torchvision.__version__} in double precision.\n")
            for key, value in results(make, shape):
                file.write(f"{key} {value:.14g}\n")


if __name__ == "__main__":
    main()
