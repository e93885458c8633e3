#!/usr/bin/python3
"""Input pipeline against torchvision, in alternation on one core: prints rates and ratios.

usage: compare.py BENCH_INPUT_PIPELINE [--rounds N] [--seconds S] [--images DIR] [--cifar DIR]

Needs Debian's python3-torch and python3-torchvision. Without --images, 60 pictures of 500 x 375 with
the spectrum of photographs are made up and saved as JPEG; without --cifar, a file of random pixels in
the CIFAR-10 layout. Rates are examples per second of processor time, which other load on the machine
disturbs least; ratios are taken round by round.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CIFAR_RECORD = 3073
WAYS = {
    "crop": "random crop 32 padding 4, flip, normalise (CIFAR-10)",
    "images": "JPEG decode, resize to 224, affine, flip, normalise",
}


def make_pictures(folder, count=60):
    import numpy
    from PIL import Image

    rng = numpy.random.default_rng(0)
    height, width = 375, 500
    fy = numpy.fft.fftfreq(height)[:, None]
    fx = numpy.fft.fftfreq(width)[None]
    frequency = numpy.hypot(fy, fx)
    frequency[0, 0] = numpy.inf
    for i in range(count):
        shared = rng.standard_normal((height, width))
        planes = []
        for _ in range(3):
            noise = 0.8 * shared + 0.6 * rng.standard_normal((height, width))
            plane = numpy.fft.ifft2(numpy.fft.fft2(noise) / frequency**1.2).real
            planes.append(128 + 45 * plane / plane.std())
        pixels = numpy.clip(numpy.stack(planes, -1), 0, 255).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{i:03}.jpg", quality=90)


def make_cifar(folder):
    import numpy

    rng = numpy.random.default_rng(0)
    for name, count in (("data_batch_1.bin", 10000), ("test_batch.bin", 100)):
        records = rng.integers(0, 256, (count, CIFAR_RECORD), dtype="uint8")
        records[:, 0] %= 10
        (folder / name).write_bytes(records.tobytes())


def peer_loader(way, folder, interpolation):
    import numpy
    import torch
    from PIL import Image
    from torchvision import transforms

    torch.set_num_threads(1)

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, transform):
            self.files = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix in (".jpg", ".png"))
            self.transform = transform

        def __len__(self):
            return len(self.files)

        def __getitem__(self, i):
            with Image.open(self.files[i]) as image:
                return self.transform(image.convert("RGB")), 0

    class Cifar(torch.utils.data.Dataset):
        def __init__(self, transform):
            paths = sorted(p for p in pathlib.Path(folder).glob("*.bin")
                           if "train" in p.name or p.name.startswith("data_batch"))
            raw = numpy.concatenate([numpy.fromfile(p, "uint8").reshape(-1, CIFAR_RECORD) for p in paths])
            self.labels = raw[:, 0].astype(int)
            self.images = raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy()
            self.transform = transform

        def __len__(self):
            return len(self.images)

        def __getitem__(self, i):
            return self.transform(Image.fromarray(self.images[i])), self.labels[i]

    if way == "crop":
        data, batch = Cifar(transforms.Compose([
            transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))])), 128
    else:
        mode = transforms.InterpolationMode[interpolation.upper()]
        data, batch = Pictures(transforms.Compose([
            transforms.Resize((224, 224)),
            transforms.RandomAffine(20, (0.1, 0.1), (0.9, 1.1), interpolation=mode),
            transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])), 20
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)


def run_peer(way, folder, seconds, interpolation):
    loader = peer_loader(way, folder, interpolation)

    def run(limit):
        count, wall, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < limit:
            for images, _ in loader:
                count += len(images)
                if time.perf_counter() - wall >= limit:
                    break
        return count / (time.process_time() - cpu)

    run(seconds / 10)
    return run(seconds)


def rate_of(command):
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return float(result.stdout.split()[-2])


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g}, n = {len(values)})"


def compare(way, folder, args, interpolation):
    ours, peers = [], []
    for _ in range(args.rounds):
        ours.append(rate_of([args.bench, way, str(folder), str(args.seconds), "0"]))
        peers.append(rate_of([sys.executable, __file__, "--peer", way, str(folder), str(args.seconds),
                              interpolation]))
    label = WAYS[way] + (f", peer's affine {interpolation}" if way == "images" else "")
    print(label)
    print(f"  lockstep    {spread(ours)} examples/s of one core")
    print(f"  torchvision {spread(peers)} examples/s of one core")
    print(f"  ratio       {spread([a / b for a, b in zip(ours, peers)])}", flush=True)


def main():
    if sys.argv[1:2] == ["--peer"]:
        way, folder, seconds, interpolation = sys.argv[2:]
        print(f"{run_peer(way, folder, float(seconds), interpolation):.2f} per_cpu_s")
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bench", help="the program bench_input_pipeline")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--images", help="folder of JPEG and PNG files")
    parser.add_argument("--cifar", help="folder of CIFAR-10 binary files")
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as temporary:
        pictures, cifar = pathlib.Path(temporary, "pictures"), pathlib.Path(temporary, "cifar")
        pictures.mkdir()
        cifar.mkdir()
        if not args.images:
            make_pictures(pictures)
        if not args.cifar:
            make_cifar(cifar)
        compare("crop", args.cifar or cifar, args, "nearest")
        for interpolation in ("nearest", "bilinear"):
            compare("images", args.images or pictures, args, interpolation)


if __name__ == "__main__":
    main()
