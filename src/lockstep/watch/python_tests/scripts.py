"""Small training scripts, as users write them; test_scripts.py runs each in its own process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch.utils.data import (
    BatchSampler, DataLoader, DistributedSampler, SequentialSampler, TensorDataset)

STEPS, BATCH = 12, 16


def data(seed=0, examples=STEPS * BATCH):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(examples, 20, generator=generator)
    return TensorDataset(inputs, inputs[:, :4].argmax(1))


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(20, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
    )


def train(model, loader, optimizer):
    model.train()
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
    return float(loss)


def plain():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for epoch in range(2):
        print("loss %.6f" % train(model, DataLoader(data(), batch_size=BATCH), optimizer))
        schedule.step()
        model.eval()
        with torch.no_grad():
            for inputs, _ in DataLoader(data(), batch_size=64):
                model(inputs)


def sequences():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(10, 8)
            self.out = torch.nn.Linear(8, 4)

        def forward(self, words):
            return self.out(self.words(words).mean(1))

    words = torch.randint(0, 10, (STEPS * BATCH, 5))
    model = Model()
    examples = TensorDataset(words, words[:, 0] % 4)
    batches = BatchSampler(SequentialSampler(examples), BATCH, drop_last=False)
    loader = DataLoader(examples, batch_sampler=batches)
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))


def empties_environment():
    subprocess.run([sys.executable, __file__, "plain"], env={}, check=True)


def crash():
    train(network(), DataLoader(data(), batch_size=BATCH), torch.optim.SGD([torch.zeros(1)], 0.1))
    raise RuntimeError("out of luck")


def crash_in_forward():
    class Broken(torch.nn.Module):
        def forward(self, value):
            raise ValueError("a bad layer")

    torch.nn.Sequential(Broken())(torch.zeros(1))


def exits_with_code():
    model = network()
    train(model, DataLoader(data(), batch_size=BATCH), torch.optim.Adam(model.parameters()))
    sys.exit(7)


def forks():
    child = os.fork()
    model = network()
    train(model, DataLoader(data(), batch_size=BATCH), torch.optim.SGD(model.parameters(), 0.1))
    if child:
        os.waitpid(child, 0)
        print("parent")


def execs():
    model = network()
    train(model, DataLoader(data(), batch_size=BATCH), torch.optim.SGD(model.parameters(), 0.1))
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, __file__, "plain"])


def many_steps(steps, batch=BATCH):
    """Far more than are written at a time."""
    model = torch.nn.Linear(20, 4)
    train(
        model,
        DataLoader(data(examples=steps * batch), batch_size=batch),
        torch.optim.SGD(model.parameters(), 0.1),
    )


def crashes_after_many_steps():
    many_steps(700)
    raise RuntimeError("out of luck")


def exits_at_once():
    many_steps(700)
    os._exit(9)


def is_killed():
    many_steps(700)
    os.kill(os.getpid(), signal.SIGKILL)


def forks_workers():
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=many_steps, args=(count,)) for count in (300, 310)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])


def trains_in_a_thread():
    thread = threading.Thread(target=many_steps, args=(300,))
    thread.start()
    thread.join()


def replaces_optim():
    class Mine:
        def __init__(self, parameters, lr):
            self.parameters, self.lr = list(parameters), lr

        def zero_grad(self):
            for parameter in self.parameters:
                parameter.grad = None

        def step(self):
            with torch.no_grad():
                for parameter in self.parameters:
                    parameter -= self.lr * parameter.grad

    class Replacement:
        SGD = Mine

    torch.optim = Replacement
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    print("loss %.6f" % train(model, DataLoader(data(), batch_size=BATCH), optimizer))


class OddBatch:
    """A batch that does not like to be looked at."""

    made = 0

    def __init__(self, pairs):
        OddBatch.made += 1
        self.inputs = torch.stack([pair[0] for pair in pairs])
        self.labels = torch.stack([pair[1] for pair in pairs])

    @property
    def shape(self):
        if OddBatch.made > 10:
            raise RuntimeError("no shape here")
        return self.inputs.shape

    def __iter__(self):
        return iter((self.inputs, self.labels))


def surprise():
    model = network()
    loader = DataLoader(data(), batch_size=BATCH, collate_fn=OddBatch)
    print("loss %.6f" % train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1)))


def data_parallel():
    model = torch.nn.DataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    print("loss %.6f" % train(model, DataLoader(data(), batch_size=BATCH), optimizer))


def by_hand():
    """Gradients averaged by hand, as older tutorials do it."""
    rank, world = join()
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data(), world, rank)
    for inputs, labels in DataLoader(data(), batch_size=BATCH // world, sampler=sampler):
        if rank == 1:
            time.sleep(0.05)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        for parameter in model.parameters():
            torch.distributed.all_reduce(parameter.grad)
            parameter.grad /= world
        optimizer.step()


def like_horovod():
    """An optimizer made as Horovod makes its own: its `synchronize` waits for the averages."""
    rank, world = join()

    class Distributed:
        def __init__(self, params):
            super(self.__class__, self).__init__(params, lr=0.1)

        def synchronize(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    torch.distributed.all_reduce(parameter.grad)
            time.sleep(0.002)

        def step(self, closure=None):
            self.synchronize()
            return super(self.__class__, self).step(closure)

    model = network()
    made = type("SGD", (torch.optim.SGD,), dict(Distributed.__dict__))
    optimizer = made(list(model.parameters()))
    sampler = DistributedSampler(data(), world, rank)
    train(model, DataLoader(data(), batch_size=BATCH // world, sampler=sampler), optimizer)


def join():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address = "tcp://127.0.0.1:" + os.environ["MASTER_PORT"]
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=world)
    return rank, world


def ddp():
    """Writes the norms that it computes itself to the file named by its second argument."""
    torch.set_num_threads(1)
    rank, world = join()
    late = sys.argv[3] if len(sys.argv) > 3 else ""
    model = torch.nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    whole = data(examples=STEPS * BATCH * world)
    loader = DataLoader(whole, batch_size=BATCH, sampler=DistributedSampler(whole, world, rank))
    for inputs, labels in loader:
        optimizer.zero_grad()
        own = [
            gradient.double().square().sum()
            for gradient in torch.autograd.grad(
                F.cross_entropy(model.module(inputs), labels), list(model.parameters())
            )
        ]
        loss = F.cross_entropy(model(inputs), labels)
        if late and int(late) == rank:
            time.sleep(0.05)
        loss.backward()
        averaged = [parameter.grad.double().square().sum() for parameter in model.parameters()]
        norms.append("%r %r" % (float(sum(own)), float(sum(averaged))))
        optimizer.step()
    with open(sys.argv[2] + str(rank), "w") as file:
        file.write("\n".join(norms))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
