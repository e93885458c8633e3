// Steps of the library against other ways to train the same network, in alternation in one process
// per rank: bench_library lenet|resnet18 [rounds] [batch per rank] [way[;way...]]. Start it with
// LOCKSTEP_WORKERS=N, or under mpirun. The ways take turns in blocks of a few steps, every other
// round in reverse order; the table has the ratio of each to the first in the same round. With
// names of ways it makes no other, in that order, and prints the peak memory of a rank.
//   library   DataParallel with torch::optim::SGD
//   own sgd   DataParallel with lockstep::optim::SGD; "own sgd, none" sets gradients to none before
//             a step, as zero_grad() of LibTorch 2 does; "own adam" with its Adam
//   engine    GradientSync and the fused optimizer, as lockstep train uses them
//   adam      DataParallel with torch::optim::Adam; "adam, sharded" with a sharded one
//   plain     forward, backward, torch::optim::SGD; nothing is exchanged (one rank only)
//   blocking  the same, then one all-reduce of Gloo per parameter, all started and then waited for
//   mpi       the same, then one blocking MPI_Allreduce per parameter (under mpirun, by name only)
//   bf16      DataParallel with 16 bits on the wire (by name only)
//   optimizers  the steps of the optimizers alone (by name only)
#include <fcntl.h>
#include <lockstep/lockstep.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/nets/networks/resnet18_cifar.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/gradient_sync.h"

#ifdef BENCH_MPI
#include <mpi.h>
#endif

using namespace lockstep;

namespace {

/// The network of the PyTorch project's example.
struct LeNet final : nets::Network {
  LeNet() {
    for (auto& [name, module] : {std::pair{"conv1", conv1}, {"conv2", conv2}})
      register_module(name, module);
    for (auto& [name, module] : {std::pair{"fc1", fc1}, {"fc2", fc2}})
      register_module(name, module);
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    auto x = torch::relu(torch::max_pool2d(conv1(images), 2));
    x = torch::relu(torch::max_pool2d(conv2(x), 2)).view({-1, 320});
    return fc2(torch::relu(fc1(x)));
  }
  torch::nn::Conv2d conv1{torch::nn::Conv2dOptions(1, 10, 5)},
      conv2{torch::nn::Conv2dOptions(10, 20, 5)};
  torch::nn::Linear fc1{320, 50}, fc2{50, 10};
};

struct Batch {
  torch::Tensor images, labels;
};

/// One way to make a step.
struct Way {
  std::string name;
  std::function<void(const Batch&)> step;
  std::vector<double> seconds{};
};

using MakeNet = std::function<std::shared_ptr<nets::Network>()>;

torch::Tensor loss_of(const torch::Tensor& output, const Batch& batch) {
  return torch::cross_entropy_loss(output, batch.labels);
}

const auto kSgd = torch::optim::SGDOptions(0.01).momentum(0.9);
const torch::optim::AdamOptions kAdam(1e-4);

Way plain(const MakeNet& make) {
  auto net = make();
  auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), kSgd);
  return {"plain", [=](const Batch& batch) {
            optimizer->zero_grad();
            loss_of(net->forward(batch.images), batch).backward();
            optimizer->step();
          }};
}

template <class Optimizer, class Options>
Way with_library(const std::string& name, const MakeNet& make, Job& job, const Options& options,
                 Wire wire = Wire::kFloat32) {
  auto net = make();
  DataParallelOptions parallel;
  parallel.wire = wire;
  auto ddp = std::make_shared<DataParallel<nets::Network>>(net, job, parallel);
  auto optimizer = std::make_shared<Optimizer>(net->parameters(), options);
  const bool none = name.find("none") != std::string::npos;
  return {name, [=](const Batch& batch) {
            if (none) {
              net->zero_grad(/*set_to_none=*/true);
            } else {
              optimizer->zero_grad();
            }
            loss_of((*ddp)(batch.images), batch).backward();
            optimizer->step();
          }};
}

Way sharded_adam(const MakeNet& make, Job& job) {
  auto net = make();
  auto ddp = std::make_shared<DataParallel<nets::Network>>(net, job);
  auto shards =
      std::make_shared<ShardedOptimizer>(shard<torch::optim::Adam>(job, net->parameters(), kAdam));
  return {"adam, sharded", [=](const Batch& batch) {
            shards->zero_grad();
            loss_of((*ddp)(batch.images), batch).backward();
            shards->step();
          }};
}

/// The optimizer's step alone.
template <class Optimizer, class Options>
Way step_of(const std::string& name, const MakeNet& make, const Options& options) {
  auto net = make();
  for (auto& parameter : net->parameters()) {
    parameter.mutable_grad() = torch::full_like(parameter, 1e-6F);
  }
  auto optimizer = std::make_shared<Optimizer>(net->parameters(), options);
  return {name, [=](const Batch&) { optimizer->step(); }};
}

/// The way of the PyTorch project's C++ example: `sum` replaces gradients by their sums when
/// backward is over.
template <class Sum>
Way after_backward(const std::string& name, const MakeNet& make, int ranks, const Sum& sum) {
  auto net = make();
  auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), kSgd);
  return {name, [=](const Batch& batch) {
            optimizer->zero_grad();
            loss_of(net->forward(batch.images), batch).backward();
            sum(net->parameters());
            for (auto& parameter : net->parameters()) parameter.mutable_grad().div_(ranks);
            optimizer->step();
          }};
}

Way blocking(const MakeNet& make, Job& job) {
  const std::string file = job.broadcast("/tmp/bench-library-" + std::to_string(::getpid()));
  auto store = c10::make_intrusive<c10d::FileStore>(file, job.size());
  auto settings = c10d::ProcessGroupGloo::Options::create();
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  settings->devices = {interface != nullptr
                           ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                           : c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, job.rank(), job.size(), settings);
  job.barrier();
  if (job.is_main()) ::unlink(file.c_str());
  return after_backward("blocking", make, job.size(),
                        [group](const std::vector<torch::Tensor>& parameters) {
                          std::vector<c10::intrusive_ptr<c10d::Work>> works;
                          for (const auto& parameter : parameters) {
                            std::vector<torch::Tensor> one{parameter.mutable_grad()};
                            works.push_back(group->allreduce(one));
                          }
                          for (auto& work : works) work->wait();
                        });
}

#ifdef BENCH_MPI
Way mpi(const MakeNet& make, Job& job) {
  int initialised = 0;  // by the library, with LOCKSTEP_BACKEND=mpi
  MPI_Initialized(&initialised);
  if (initialised == 0) {
    MPI_Init(nullptr, nullptr);
    std::atexit([] { MPI_Finalize(); });
  }
  return after_backward("mpi", make, job.size(), [](const std::vector<torch::Tensor>& parameters) {
    for (const auto& parameter : parameters) {
      auto& gradient = parameter.mutable_grad();
      MPI_Allreduce(MPI_IN_PLACE, gradient.data_ptr<float>(), static_cast<int>(gradient.numel()),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
  });
}
#endif

Way engine(const MakeNet& make, Job& job) {
  struct Parts {
    std::shared_ptr<nets::Network> net;
    std::unique_ptr<comm::Communicator> communicator;
    SystemClock clock;
    std::optional<train::FlatParameters> flat;
    std::optional<train::GradientSync> sync;
    std::optional<train::Optimizer> optimizer;
  };
  auto parts = std::make_shared<Parts>();
  parts->net = make();
  const int made = ::memfd_create("bench", 0);
  const std::string path =
      job.broadcast("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(made));
  const int memory = job.is_main() ? made : ::open(path.c_str(), O_RDWR);
  parts->communicator = comm::make_shared_memory({.rank = job.rank(), .size = job.size()}, memory);
  const auto parameters = train::trainable_parameters(*parts->net);
  const auto plan = comm::plan_buckets(train::element_counts(parameters), Bytes{4 << 20});
  parts->flat.emplace(parameters, plan);
  parts->sync.emplace(parameters, plan, *parts->communicator, train::SyncOptions{}, parts->clock);
  parts->optimizer.emplace(
      train::OptimizerOptions{.momentum = 0.9},
      train::ParameterLayout{
          .groups = {{0, plan.tail_begin}}, .tensors = {}, .count = plan.tail_begin},
      torch::kCPU);
  const int ranks = job.size();
  const auto count = static_cast<std::int64_t>(plan.tail_begin);
  return {"engine", [=](const Batch& batch) {
            parts->sync->begin_step();
            (loss_of(parts->net->forward(batch.images), batch) / ranks).backward();
            parts->sync->finish();
            parts->optimizer->step(parts->flat->flat(), parts->sync->flat().narrow(0, 0, count),
                                   0.01);
          }};
}

double timed(Job& job, Way& way, const Batch& batch, int steps) {
  job.barrier();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) way.step(batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto all = job.gather(took.count() / steps);
  return *std::max_element(all.begin(), all.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Between which two of the sorted values their median lies, with 95 % confidence: positions of the
/// binomial distribution, by its normal approximation.
std::pair<double, double> interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto low =
      static_cast<std::size_t>(std::max(0.0, std::floor((count - 1.96 * std::sqrt(count)) / 2)));
  return {values[low], values[values.size() - 1 - low]};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ';');) parts.push_back(part);
  return parts;
}

std::vector<Way> ways_of(const std::string& name, const MakeNet& make, Job& job) {
  if (name == "library") return {with_library<torch::optim::SGD>(name, make, job, kSgd)};
  if (name == "own sgd" || name == "own sgd, none")
    return {with_library<optim::SGD>(name, make, job, kSgd)};
  if (name == "bf16")
    return {with_library<torch::optim::SGD>(name, make, job, kSgd, Wire::kBFloat16)};
  if (name == "engine") return {engine(make, job)};
  if (name == "adam") return {with_library<torch::optim::Adam>(name, make, job, kAdam)};
  if (name == "own adam") return {with_library<optim::Adam>(name, make, job, kAdam)};
  if (name == "adam, sharded") return {sharded_adam(make, job)};
  if (name == "blocking" && job.size() > 1) return {blocking(make, job)};
#ifdef BENCH_MPI
  if (name == "mpi" && job.size() > 1) return {mpi(make, job)};
#endif
  if (name == "plain" && job.size() == 1) return {plain(make)};
  if (name == "optimizers") {
    return {step_of<torch::optim::SGD>("sgd step", make, kSgd),
            step_of<optim::SGD>("own sgd step", make, kSgd),
            step_of<torch::optim::Adam>("adam step", make, kAdam),
            step_of<optim::Adam>("own adam step", make, kAdam)};
  }
  throw Error(ErrorKind::kUsage, "there is no way '" + name + "' with these ranks");
}

}  // namespace

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "lenet";
  const bool resnet = what == "resnet18";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const int size = argc > 3 ? std::atoi(argv[3]) : resnet ? 8 : 32;
  const int steps = resnet ? 1 : 20;
  const MakeNet make = [&]() -> std::shared_ptr<nets::Network> {
    torch::manual_seed(1);
    if (resnet) return std::make_shared<nets::ResNet18Cifar>();
    return std::make_shared<LeNet>();
  };
  const Batch batch{resnet ? torch::randn({size, 3, 32, 32}) : torch::randn({size, 1, 28, 28}),
                    torch::randint(10, {size})};
  const std::string last = job.size() > 1 ? "blocking" : "plain";
  const std::string all = "library;own sgd;engine;adam;own adam;adam, sharded;" + last;
  std::vector<Way> ways;
  for (const std::string& name : split(argc > 4 ? argv[4] : all)) {
    for (Way& way : ways_of(name, make, job)) ways.push_back(std::move(way));
  }
  for (Way& way : ways) timed(job, way, batch, 2);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[round % 2 == 0 ? i : ways.size() - 1 - i];
      way.seconds.push_back(timed(job, way, batch, steps));
    }
  }
  job.print(what + ", " + std::to_string(job.size()) + " ranks, batch " + std::to_string(size) +
            " per rank, " + std::to_string(rounds) + " rounds of " + std::to_string(steps) +
            " steps; ratio of times to " + ways[0].name +
            " in the same round: median, its 95 % interval, smallest..largest");
  for (const Way& way : ways) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < way.seconds.size(); ++r) {
      ratios.push_back(way.seconds[r] / ways[0].seconds[r]);
    }
    const auto [low, high] = interval(ratios);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    char line[160];
    std::snprintf(line, sizeof line, "%-14s %9.3f ms  %.3f (%.3f..%.3f)  %.2f..%.2f",
                  way.name.c_str(), 1e3 * median(way.seconds), median(ratios), low, high, *least,
                  *most);
    job.print(line);
  }
  if (argc > 4) {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto peaks = job.gather(static_cast<double>(usage.ru_maxrss) / 1024);
    job.print("peak memory of a rank: " +
              std::to_string(*std::max_element(peaks.begin(), peaks.end())) + " MB");
  }
}
