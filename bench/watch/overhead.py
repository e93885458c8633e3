"""What watching costs per step: hooks switched on and off in turn within one process.

usage: python3 bench/watch/overhead.py [--network small|resnet18] [--blocks N] [--steps N]

Short blocks of steps alternate: watched, not watched, not watched. The two unwatched ones are the
control: their difference is what this machine cannot resolve. Times are processor time of the training
thread, which other programs disturb less than the clock on the wall; means over blocks without the
fastest and slowest tenth, so that work the watcher puts off for several steps counts. The first line is the cost of the
hooks alone, around functions that do nothing.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "src", "lockstep", "watch", "python"))


def networks(torch):
    nn = torch.nn

    def block(inputs, outputs, stride):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    def resnet18():
        """Layers and sizes of ResNet-18 for 32 x 32 images, without the additions."""
        widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2),
                  (256, 256, 1), (256, 512, 2), (512, 512, 1)]
        return nn.Sequential(
            nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            *[block(*width) for width in widths], nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(512, 10))

    def small():
        """A step of about 2 ms on one core."""
        return nn.Sequential(nn.Flatten(), nn.Linear(3072, 128), nn.ReLU(), nn.Linear(128, 10))

    return {"small": small, "resnet18": resnet18}


def bare_cost(torch, watcher, switch):
    """Microseconds per step of the hooks around nothing: one fetch, one forward of five modules, one
    backward, one optimizer step."""
    from lockstep_watch import hooks

    class Parts:
        pass

    class Iterator:
        def __next__(self):
            return batch

    class Loader:
        num_workers, batch_size = 0, 32

        def __iter__(self):
            return Iterator()

        def __len__(self):
            return 10

    class Module:
        def __init__(self, children=()):
            self.children, self._parameters = children, {}

        def parameters(self):
            return iter([weight])

        def modules(self):
            return iter([self, *self.children])

        def __call__(self, value):
            for child in self.children:
                child(value)
            return value

    batch, weight = torch.zeros(32, 8), torch.zeros(1, requires_grad=True)
    fake = Parts()
    fake.utils, fake.nn, fake.autograd, fake.optim, fake.cuda = (Parts() for _ in range(5))
    fake.utils.data = Parts()
    fake.utils.data.dataloader = Parts()
    fake.utils.data.dataloader._BaseDataLoaderIter = Iterator
    fake.utils.data.dataloader.DataLoader = Loader
    fake.nn.Module = Module
    fake.is_grad_enabled = torch.is_grad_enabled
    fake.autograd.backward = fake.autograd.grad = lambda *_: None
    hooks._wrap_loader(fake, watcher)
    hooks._wrap_modules(fake, watcher)
    hooks._wrap_autograd(fake, watcher)

    class Optimizer:
        param_groups = []

        def step(self):
            pass

    Optimizer.step = hooks.ending_a_step(Optimizer.step, watcher, 0)
    optimizer, model = Optimizer(), Module([Module() for _ in range(4)])

    def seconds(steps):
        iterator = iter(Loader())
        began = time.thread_time_ns()
        for _ in range(steps):
            model(next(iterator))
            fake.autograd.backward(weight)
            optimizer.step()
        return (time.thread_time_ns() - began) / steps / 1e3

    seconds(200)
    on = min(seconds(500) for _ in range(7))
    switch.on = False
    off = min(seconds(500) for _ in range(7))
    switch.on = True
    return on - off


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=["small", "resnet18"], default="small")
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()

    import torch
    from lockstep_watch import hooks
    from lockstep_watch.switch import switch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        hooks.install(torch, folder)
        watcher = hooks.the_watcher(torch, folder)
        print("hooks around nothing: %.1f us per step" % bare_cost(torch, watcher, switch))
        measure(torch, switch, options)


def measure(torch, switch, options):
    model = networks(torch)[options.network]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(
        torch.randn(options.batch * options.steps, 3, 32, 32),
        torch.randint(0, 10, (options.batch * options.steps,)))
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch)

    def block(watched):
        """Mean processor time of a step in microseconds, without the first, which makes the iterator."""
        switch.on = watched
        times = []
        last = time.thread_time_ns()
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            now = time.thread_time_ns()
            times.append((now - last) / 1e3)
            last = now
        switch.on = True
        return statistics.mean(times[1:])

    block(True), block(False)
    costs, controls, steps = [], [], []
    for _ in range(options.blocks):
        watched, bare, again = block(True), block(False), block(False)
        costs.append(watched - (bare + again) / 2)
        controls.append(again - bare)
        steps.append((bare + again) / 2)
    step = statistics.median(steps)
    for name, values in (("watching", costs), ("control", controls)):
        kept = sorted(values)[len(values) // 10 : len(values) - len(values) // 10]
        middle = statistics.mean(kept)
        spread = statistics.stdev(kept) / len(kept) ** 0.5
        print("%s, b = %d: %-8s %+7.1f +- %.1f us per step of %.2f ms (%+.2f %%)" % (
            options.network, options.batch, name, middle, spread, step / 1e3, 100 * middle / step))


if __name__ == "__main__":
    main()
